import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { apiUrl } from "../../src/api/client";
import type { CatalogJson, RunJson } from "../../src/api/types.gen";
import { RunFolders } from "../../src/shell/grouping";
import { catalog } from "../../src/state/catalog";
import { followGrouping } from "../../src/state/grouping";
import { params, setParams } from "../../src/state/params";

function run(id: string, more: string[] = []): RunJson {
  const folders = [id, ...more].map((folder) => ({ id: folder, label: `folder ${folder}` }));
  return { id, label: id, basis: `basis of ${id}`, texts: {}, folders, workers: [], kernel_types: {} };
}

const CATALOG = {
  runs: [run("r1", ["r2"]), run("r3"), run("r4")],
  offers: [{ runs: ["r3", "r4"], reason: "side by side", texts: {} }],
} as unknown as CatalogJson;

let root = document.createElement("div");
let loads = 0;
let stop = () => {};

beforeEach(() => {
  vi.useFakeTimers();
  loads = 0;
  vi.stubGlobal("fetch", () => {
    loads++;
    return Promise.resolve(new Response(JSON.stringify(CATALOG)));
  });
  setParams({ join: null, split: null });
  stop = followGrouping();
});
afterEach(() => {
  stop();
  setParams({ join: null, split: null });
  catalog.value = null;
  root.remove();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Opens the folders of a run and clicks the button with this text. */
function choose(of: RunJson | undefined, text: string): string {
  if (!of) throw new Error("no such run");
  root = document.createElement("div");
  document.body.append(root);
  act(() => render(<RunFolders run={of} catalog={CATALOG} />, root));
  act(() => root.querySelector("button")?.click());
  const shown = document.body.textContent ?? "";
  const button = [...document.querySelectorAll("button")].find((one) => one.textContent === text);
  act(() => button?.click());
  act(() => render(null, root));
  return shown;
}

const asked = () => new URL(apiUrl("view/kernel", { span: "s" })).search;

test("a run says what it is made of, and is split and found again; every request says so", () => {
  const [first] = CATALOG.runs;
  const shown = choose(first, "Make each folder a run");
  expect(shown).toContain("basis of r1");
  expect(shown).toContain("folder r2");
  expect(params.value).toMatchObject({ split: "r1" });
  expect([asked(), loads]).toEqual(["?split=r1&span=s", 1]);
  choose(first, "Runs as found");
  expect([params.value.split, asked(), loads]).toEqual([undefined, "?span=s", 2]);
});

test("runs that are offered as one are joined, and so is any other; splitting them takes that back", () => {
  const [first, third] = CATALOG.runs;
  expect(choose(third, "Make them one run")).toContain("side by side");
  expect([params.value.join, asked()]).toEqual(["r3.r4", "?join=r3.r4&span=s"]);
  const joined = run("r3", ["r4"]);
  act(() => setParams({ join: "r3.r4,r1.r9" }));
  expect(asked()).toBe("?join=r3.r4&join=r1.r9&span=s");
  choose(joined, "Make each folder a run");
  expect([params.value.join, params.value.split]).toEqual(["r1.r9", undefined]);
  choose(first, "Make each folder a run");
  expect([params.value.join, params.value.split]).toEqual([undefined, undefined]);
});
