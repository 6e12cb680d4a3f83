import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PARTS } from "../../src/api/types.gen";
import { coreColor, NAMES } from "../../src/base/color";

/** Linear RGB as seen with one kind of cone missing (Machado, Oliveira, Fernandes 2009, severity 1). */
const SIGHT = {
  full: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
} as const;
type Sight = keyof typeof SIGHT;
type Vector = readonly [number, number, number];

/** Least distance in CIE Lab of two parts of one bar; 2.3 is just noticeable side by side. */
const LEAST = 9;
/** The same of the parts that a reader looks for on each page. */
const LEAST_MAIN = 15;
const MAIN = ["compute", "over", "wait", "comm", "free", "bubble"];
const CORES = ["AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "AI_CPU", "DSA", "HCCL", null];

const css = readFileSync("src/styles/tokens.css", "utf-8"); // Vitest gives "" for an import of it
const tokensOf = (text: string) =>
  Object.fromEntries([...text.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]));
const [light = "", dark = ""] = css.split('[data-theme="dark"]');
const MODES = { light: tokensOf(light), dark: { ...tokensOf(light), ...tokensOf(dark) } };

function linear(hex: string): Vector {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

const times = (matrix: readonly number[], [x, y, z]: Vector): Vector =>
  [0, 3, 6].map((row) => (matrix[row] ?? 0) * x + (matrix[row + 1] ?? 0) * y + (matrix[row + 2] ?? 0) * z) as never;

/** CIE Lab of a colour, D65. */
function lab(hex: string, sight: Sight): Vector {
  const seen = times(SIGHT[sight], linear(hex)).map((value) => Math.min(1, Math.max(0, value))) as never;
  const xyz = times([0.4124, 0.3576, 0.1805, 0.2126, 0.7152, 0.0722, 0.0193, 0.1192, 0.9505], seen);
  const [x, y, z] = [xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883].map((value) =>
    value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116,
  ) as unknown as Vector;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function hexOf(mode: keyof typeof MODES, name: string): string {
  const value = MODES[mode][name];
  if (!value) throw new Error(`no token ${name}`);
  return value;
}

/** The pairs of colours that are closer than `least`. */
function closePairs(names: readonly string[], mode: keyof typeof MODES, sight: Sight, least: number): string[] {
  const colours = [...new Set(names)].map((name) => [name, lab(hexOf(mode, name), sight)] as const);
  return colours.flatMap(([a, left], at) =>
    colours.slice(at + 1).flatMap(([b, right]) => {
      const distance = Math.hypot(left[0] - right[0], left[1] - right[1], left[2] - right[2]);
      return distance < least ? [`${a} ${b}: ${distance.toFixed(1)}`] : [];
    }),
  );
}

const colours = (table: Readonly<Record<string, { color: string }>>) => Object.values(table).map(({ color }) => color);
const ofVariable = (text: string) => text.slice("var(".length, -1);

describe.each(["light", "dark"] as const)("in %s mode", (mode) => {
  test.each(["full", "deuteranopia", "protanopia"] as const)("parts of one bar look different, %s sight", (sight) => {
    for (const table of Object.values(PARTS)) expect(closePairs(colours(table), mode, sight, LEAST)).toEqual([]);
    expect(
      closePairs(
        CORES.map((core) => ofVariable(coreColor(core))),
        mode,
        sight,
        LEAST,
      ),
    ).toEqual([]);
    expect(
      closePairs(
        MAIN.map((name) => `--c-${name}`),
        mode,
        sight,
        LEAST_MAIN,
      ),
    ).toEqual([]);
  });
});

test("computing, overlapped, waiting and transfer lend their colours to nothing else", () => {
  const owners: Readonly<Record<string, readonly string[]>> = {
    "--c-compute": [
      "budget.computing",
      "ledger.computing",
      "ledger.computing_forward_backward",
      "ledger.computing_or_idle",
    ],
    "--c-over": ["budget.overlapped", "ledger.computing_overlapped"],
    "--c-comm": ["budget.communication", "communication.transfer", "ledger.transfer", "ledger.communication"],
    "--c-vec": [],
  };
  for (const [token, expected] of Object.entries(owners)) {
    const found = Object.entries(PARTS).flatMap(([table, parts]) =>
      Object.entries(parts).flatMap(([id, { color }]) => (color === token ? [`${table}.${id}`] : [])),
    );
    expect(found.sort()).toEqual([...expected].sort());
  }
  expect(NAMES.filter((name) => name.includes("--c-"))).toEqual([]);
});
