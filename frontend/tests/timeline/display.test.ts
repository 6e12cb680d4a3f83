import { expect, test } from "vitest";
import { DURATION_LIMITS, DURATION_SHARES, durationClass } from "../../src/timeline/display";
import { drawRow, newLine } from "../../src/timeline/raster";
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
  drawRow(bars, line, { fill: Uint32Array.of(7, 8), edge: Uint32Array.of(7, 8), numberOf: durationClass });
  expect([line.colours[2], line.colours[15]]).toEqual([7, 8]);
});
