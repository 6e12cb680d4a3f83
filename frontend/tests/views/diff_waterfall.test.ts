import { expect, test } from "vitest";
import type { DiffLedgerJson, WaterfallRowJson } from "../../src/api/types.gen";
import { TIME_UNITS } from "../../src/base/format";
import { numbersOf, pairsOf, waterfallCsv, waterfallOf } from "../../src/views/diff/waterfall";

const MS = 1_000_000;
const UNIT = TIME_UNITS.find(({ name }) => name === "ms") as (typeof TIME_UNITS)[number];

function row(part: string, times: number[], is_beside = false): WaterfallRowJson {
  const bounds = times.map((ms) => ({ ns: ms * MS, low_ns: ms * MS, high_ns: ms * MS }));
  return { part, title: { code: part, params: {} }, times: bounds, is_beside };
}

/** Steps of 100 and 90 ms, and one of 50 ms between them. */
const DATA: DiffLedgerJson = {
  names: ["A", "B", "C"],
  steps: [100 * MS, 50 * MS, 90 * MS],
  starts: [null, null, null],
  rows: [row("before", [1, 1, 1], true), row("computing", [60, 30, 80]), row("transfer", [40, 20, 10])],
  waterfall: [
    { difference_ns: 20 * MS, running_ns: 120 * MS },
    { difference_ns: -30 * MS, running_ns: 90 * MS },
  ],
  outcomes: [],
  presets: [],
};

test("each pair of captures once, the earlier one first", () => {
  expect(pairsOf(["A", "B", "C"])).toEqual(["AB", "AC", "BC"]);
  expect(numbersOf(["A", "B", "C"], "BC")).toEqual([1, 2]);
});

test("bars float from sum to sum on an axis that does not start at zero", () => {
  const { rows, ticks, place } = waterfallOf(DATA, [0, 2], UNIT);
  const ends = rows.map(({ left, width }) => [left, left + width]);
  const at = (ms: number) => place(ms * MS);
  expect(ends.flat()).toEqual([at(100), at(120), at(90), at(120)].map((one) => expect.closeTo(one, 9)));
  expect(rows.map(({ row: { part } }) => part)).toEqual(["computing", "transfer"]);
  expect([place(90 * MS) > 0.05, place(120 * MS) < 0.95, place(0) < -1]).toEqual([true, true, true]);
  expect(ticks.map(({ label }) => label)).toEqual(["90", "100", "110", "120"]);
});

test("the CSV has all captures, and time beside the step without a sum", () => {
  const lines = waterfallCsv(DATA, ({ part }) => part)
    .trim()
    .split(/\r?\n/);
  expect(lines[0]).toBe(
    "entry,a_ns,a_low_ns,a_high_ns,b_ns,b_low_ns,b_high_ns,c_ns,c_low_ns,c_high_ns,difference_ns,running_ns",
  );
  expect(lines[1]).toMatch(/^before,1000000,.*,,$/);
  expect(lines[2]).toMatch(/^computing,60000000,.*,20000000,120000000$/);
});
