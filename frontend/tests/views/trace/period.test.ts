import { expect, test } from "vitest";
import { STEP, WITHIN } from "../../../src/state/period";
import { rangeOf } from "../../../src/views/trace/period";

const STEPS = [
  { step: "11", device: 0, start: 100, end: 300 },
  { step: "12", device: 0, start: 300, end: 500 },
  { step: "12", device: 1, start: 290, end: 480 },
];
const BASE = "1736409284123456789";

test("a chosen step lasts from its first start to its last end on any device", () => {
  expect(rangeOf({ key: STEP, value: "11" }, BASE, STEPS)).toEqual({ start: 100, end: 300 });
  expect(rangeOf({ key: STEP, value: "12" }, BASE, STEPS)).toEqual({ start: 290, end: 500 });
  expect(rangeOf({ key: STEP, value: "13" }, BASE, STEPS)).toBeNull();
});

test("a chosen range is in ns since 1970", () => {
  const value = "1736409284123456889,1736409284123457789";
  expect(rangeOf({ key: WITHIN, value }, BASE, [])).toEqual({ start: 100, end: 1000 });
  for (const wrong of ["", "5", "a,b", "1736409284123457789,1736409284123456889"])
    expect(rangeOf({ key: WITHIN, value: wrong }, BASE, [])).toBeNull();
});
