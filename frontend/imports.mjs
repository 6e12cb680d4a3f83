// Checks the imports of src/, those of types included: folders import only what stands below them, and no file is in a circle.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SRC = join(import.meta.dirname, "src");
/** Folders from the lowest one up; those of one line do not import each other. "." holds the files beside them. */
const LAYERS = [["api", "base"], ["state", "timeline"], ["i18n"], ["widgets"], ["views"], ["shell"], ["."]];
/** Imports against the layers, "file -> folder": the dictionary collects the terms of all views. */
const UPWARD = new Set(["i18n/dictionary.ts -> views"]);
/** Files that are in circles. The list only shrinks: a file that has left its circle leaves the list. */
const CIRCLES = new Set([
  "timeline/derived.ts",
  "timeline/rows.ts",
  "views/trace/api.ts",
  "views/trace/marks/marks.ts",
  "views/trace/range/area_stats.ts",
  "views/trace/ranks/align_pair.tsx",
  "views/trace/ranks/follow_lanes.ts",
  "views/trace/ranks/lanes.ts",
  "views/trace/ranks/rank_rows.ts",
  "views/trace/ranks/ranks_state.ts",
  "views/trace/ranks/row_menu.tsx",
  "views/trace/ranks/step_differences.ts",
  "views/trace/search/finder.ts",
  "views/trace/search/follow_ranks.ts",
  "views/trace/search/search_state.ts",
  "views/trace/selection/selection.ts",
  "views/trace/selection/walk.ts",
  "views/trace/session.ts",
  "views/trace/show_derived.ts",
  "views/trace/step_marks.ts",
  "views/trace/trace_data.ts",
]);
/** `import … from "./x"`, `export … from "./x"`, `import "./x"`. A dynamic import loads later and is in no circle. */
const IMPORT = /^(?:(?:import|export)\b[^;"]*?\bfrom |import )"(\.[^"]+)"/gm;

/** Path below src/ of what a file imports by `name`; undefined for a stylesheet. */
function resolve(file, name) {
  const path = join(dirname(file), name);
  return ["", ".ts", ".tsx", "/index.ts", "/index.tsx"]
    .map((end) => path + end)
    .find((one) => /\.tsx?$/.test(one) && existsSync(join(SRC, one)));
}

function importsOf(file) {
  const text = readFileSync(join(SRC, file), "utf-8");
  return [...text.matchAll(IMPORT)].map((match) => resolve(file, match[1])).filter(Boolean);
}

/** Files that can be reached from a file, itself included if it is in a circle. */
function reached(file, imports) {
  const found = new Set();
  const open = [...imports.get(file)];
  for (let one = open.pop(); one; one = open.pop()) {
    if (!found.has(one)) open.push(...imports.get(one));
    found.add(one);
  }
  return found;
}

const folderOf = (file) => (file.includes("/") ? file.split("/")[0] : ".");
const levelOf = (file) => LAYERS.findIndex((folders) => folders.includes(folderOf(file)));

const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => /\.tsx?$/.test(entry.name))
  .map((entry) => relative(SRC, join(entry.parentPath, entry.name)));
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const defects = [];
for (const file of files) {
  if (levelOf(file) < 0) defects.push(`${file}: its folder is not in LAYERS`);
  for (const other of imports.get(file)) {
    const isBelow = folderOf(file) === folderOf(other) || levelOf(other) < levelOf(file);
    if (!isBelow && !UPWARD.has(`${file} -> ${folderOf(other)}`)) defects.push(`${file} must not import ${other}`);
  }
  const isInCircle = reached(file, imports).has(file);
  if (isInCircle && !CIRCLES.has(file)) defects.push(`${file} is in a circle of imports`);
  if (!isInCircle && CIRCLES.has(file)) defects.push(`${file} left its circle: remove it from CIRCLES`);
}
for (const file of CIRCLES) if (!imports.has(file)) defects.push(`${file} is gone: remove it from CIRCLES`);
for (const defect of defects) console.error(`imports: ${defect}`);
process.exitCode = defects.length ? 1 : 0;
