import { expect, test } from "vitest";
import { hasStages, highest, stagesOf } from "../../src/base/outlier";

test("the rank that computes well above the median stands out", () => {
  expect(highest([36, 37, null, 54, undefined, 36])).toEqual({ index: 3, value: 54, median: 36.5 });
  expect(highest([36, 37, 54])).toEqual({ index: 2, value: 54, median: 37 });
});

test("nothing stands out among equals, of two, or of what is unknown", () => {
  expect(highest([100, 101, 110])).toBeNull();
  expect(highest([1, 100])).toBeNull();
  expect(highest([null, null, 5])).toBeNull();
  expect(highest([0, 0, 0, 5])).toBeNull();
});

const ranked = (...stages: (number | null)[]) => stages.map((pipeline_stage) => ({ pipeline_stage }));

test("stages of a pipeline compute differently by nature: only ranks of one stage are compared", () => {
  const computing = [22, 22, 22, 28, 29, 28];
  expect(highest(computing)).not.toBeNull();
  const stages = ranked(1, 1, 1, 2, 2, 2);
  expect(highest(computing, stagesOf(stages, [5, 5, 5, 5, 5, 5]))).toBeNull();
  expect(hasStages(stages)).toBe(true);
  expect(highest([22, 30, 22, 28, 29, 28], stagesOf(stages, []))).toEqual({ index: 1, value: 30, median: 22 });
  expect(highest([22, 30, 22, 28, 50, 28], stagesOf(stages, []))).toEqual({ index: 4, value: 50, median: 28 });
});

test("where nothing tells the stages, ranks that receive from each other are not compared", () => {
  const unknown = ranked(null, null, null);
  expect(highest([22, 22, 28], stagesOf(unknown, [null, 0, 5]))).toBeNull();
  expect(highest([22, 22, 28], stagesOf(unknown, [null, 0, 0]))).toEqual({ index: 2, value: 28, median: 22 });
  expect(hasStages(unknown)).toBe(false);
});
