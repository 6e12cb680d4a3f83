import { expect, test } from "vitest";
import type { StepTimes } from "../../src/api/types.gen";
import { partsThatVary, restOf } from "../../src/views/step_trace/parts";

const step = (total_ns: number | null, gap_ns: number | null, fp_bp_ns: number | null, tail_ns: number | null) =>
  ({ step: "5", total_ns, gap_ns, fp_bp_ns, tail_ns }) as StepTimes;

test("what no part tells of a step is its rest", () => {
  expect(restOf(step(404, 110, null, null))).toBe(294);
});

test("nothing is left where all parts are known, or the step is not", () => {
  expect(restOf(step(404, 100, 200, 90))).toBeNull();
  expect(restOf(step(null, 110, null, null))).toBeNull();
  expect(restOf(step(110, 110, null, null))).toBeNull();
});

test("a part that is 0 in all steps is not drawn", () => {
  const shown = (steps: StepTimes[]) =>
    partsThatVary({ method: "kernels", steps, mean: step(9, 1, 8, 0) }).map(({ id }) => id);
  expect(shown([step(9, 1, 8, 0), step(9, null, 8, 0)])).toEqual(["fp_bp", "gap"]);
  expect(shown([step(9, 1, 8, 0), step(9, 1, 7, 1)])).toEqual(["fp_bp", "tail", "gap"]);
});
