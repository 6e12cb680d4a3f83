import { expect, test } from "vitest";
import { type ColourMode, DURATION_LIMITS, DURATION_SHARES, durationClass } from "../../src/timeline/display";
import { type Colouring, Lookups } from "../../src/timeline/lookup";
import { drawRow, newLine, numberOf } from "../../src/timeline/raster";
import type { Scene } from "../../src/timeline/scene";
import type { Theme } from "../../src/timeline/theme";
import { row } from "./build";

test("bars are coloured by the longest slice, from each limit on", () => {
  const lengths = [0, 999, 1_000, 9_999, 10_000_000, 1e9];
  const bars = row(lengths.map((length, at) => [at * 2e9, at * 2e9 + length]));
  expect(lengths.map((_, index) => durationClass(bars, index))).toEqual([0, 0, 1, 1, 5, 5]);
  expect(DURATION_SHARES).toHaveLength(DURATION_LIMITS.length + 1);
});

test("a row is drawn in the colours of the numbers of its bars", () => {
  const bars = row([
    [0, 500, 2],
    [1_000, 3_000, 2],
  ]);
  const line = newLine(0, 100, 30, 99);
  drawRow(bars, line, { fill: Uint32Array.of(7, 8), edge: Uint32Array.of(7, 8), numbers: durationClass });
  expect([line.colours[2], line.colours[15]]).toEqual([7, 8]);
});

test("by category, slices have the colour of their category, else of their process", () => {
  const used = { names: ["a", "b", "a"], categories: ["cpu_op", "cpu_op", ""], meanings: ["", "", ""] };
  const slices = Array.from({ length: 64 }, (_, index): [number, number, number] => [index, 2 * index, 3 * index]);
  const theme = { surface: [0, 0, 0], slices, muted: "" } as unknown as Theme;
  const scene = { theme, labels: new Map() } as unknown as Scene;
  const lookups = new Lookups();
  const colours = (process: string, mode: ColourMode) => {
    const { numbers } = lookups.get(used, { name: process }, scene, false, mode);
    return [...(numbers as Uint8Array)];
  };
  const [a, b, none] = colours("Python", "category");
  expect(a).toBe(b);
  expect(none).not.toBe(a);
  expect(colours("CANN", "category")).toEqual([a, b, expect.anything()]);
  expect(colours("CANN", "category")[2]).not.toBe(none);
  const [first, second, third] = colours("Python", "name");
  expect([first === second, first === third]).toEqual([false, true]);
});

test("by meaning, kernels that do the same have one colour; waits are grey by name, too", () => {
  const names = ["MatMulV2", "MatMulV3", "Cast", "EVENT_WAIT"];
  const used = { names, categories: ["", "", "", ""], meanings: ["matmul", "matmul", "cast_format", "sync_event"] };
  const scene = { theme: { surface: [0, 0, 0], slices: [], muted: "" }, labels: new Map() } as unknown as Scene;
  const colours = (mode: ColourMode) => [
    ...(new Lookups().get(used, { name: "NPU" }, scene, false, mode).numbers as Uint8Array),
  ];
  const [first, second, cast, wait] = colours("meaning");
  expect([first === second, first === cast]).toEqual([true, false]);
  expect([wait, colours("name")[3]]).toEqual([4, 4]);
});

test("by rank, all slices of a rank have one colour, that of another rank differs", () => {
  const slices = Array.from({ length: 64 }, (_, index): [number, number, number] => [index, 2 * index, 3 * index]);
  const theme = { surface: [0, 0, 0], slices, muted: "" } as unknown as Theme;
  const scene = { theme, labels: new Map() } as unknown as Scene;
  const bars = { ...row([[0, 1_000, 1]]), names: ["a", "b"], categories: ["", ""], meanings: ["", ""] };
  const lookups = new Lookups();
  const pixel = (rankPlace: number, name: number) => {
    const { fill, numbers } = lookups.get(bars, { name: "Python", rankPlace }, scene, false, "rank");
    bars.name.fill(name);
    return fill[numberOf(numbers, bars, 0)];
  };
  expect(pixel(0, 0)).toBe(pixel(0, 1));
  expect(pixel(1, 0)).not.toBe(pixel(0, 0));
  expect(pixel(24, 0)).toBe(pixel(0, 0));
});

test("derived slices have the colours of their labels, slices of the trace with the same name do not", () => {
  const slices = Array.from({ length: 64 }, (_, index): [number, number, number] => [index, 2 * index, 3 * index]);
  const theme = { surface: [0, 0, 0], slices, muted: "" } as unknown as Theme;
  const used = { names: ["a"], categories: [""], meanings: [""] };
  const lookups = new Lookups();
  const number = (color: string, colouring: Colouring) => {
    const scene = { theme, labels: new Map([["a", { text: "A", color }]]) } as unknown as Scene;
    return (lookups.get(used, { name: "" }, scene, false, colouring).numbers as Uint8Array)[0];
  };
  expect([number("--c-comm", "label"), number("--c-wait", "label")]).toEqual([2, 3]);
  expect(number("--c-comm", "name")).toBe(number("--c-wait", "name"));
});
