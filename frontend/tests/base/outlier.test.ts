import { expect, test } from "vitest";
import { hasStages, haveFewPeers, medianOf, outliers, stagesOf } from "../../src/base/outlier";

test("the rank that computes well above the median stands out", () => {
  expect(outliers([36, 37, null, 54, undefined, 36])).toEqual([{ index: 3, value: 54, median: 36.5 }]);
  expect(outliers([36, 37, 54])).toEqual([{ index: 2, value: 54, median: 37 }]);
});

test("nothing stands out among equals, of two, or of what is unknown", () => {
  expect(outliers([100, 101, 110])).toEqual([]);
  expect(outliers([1, 100])).toEqual([]);
  expect(outliers([null, null, 5])).toEqual([]);
  expect(outliers([0, 0, 0, 5])).toEqual([]);
});

test("several stand out where all of them are well above the rest, whatever lies between them", () => {
  const places = (values: number[]) => outliers(values).map((one) => one.index);
  expect(places([10, 15, 10, 30, 10])).toEqual([3, 1]);
  expect(places([15, 10, 10, 15])).toEqual([0, 3]);
  // Most of them are slow: the others are no measure.
  expect(places([15, 15, 15, 10])).toEqual([]);
});

test("of figures that scatter only the highest stands out", () => {
  expect(outliers([10, 10.5, 11, 11.5, 12, 12.5, 13, 13.5, 14]).map((one) => one.index)).toEqual([8]);
});

test("the median of an even number is between the two in the middle", () => {
  expect([medianOf([3, 1, 2]), medianOf([4, 1, 3, 2]), medianOf([])]).toEqual([2, 2.5, 0]);
});

const ranked = (...stages: (number | null)[]) => stages.map((pipeline_stage) => ({ pipeline_stage }));

test("stages of a pipeline compute differently by nature: only ranks of one stage are compared", () => {
  const computing = [22, 22, 22, 28, 29, 28];
  expect(outliers(computing)).not.toEqual([]);
  const stages = ranked(1, 1, 1, 2, 2, 2);
  expect(outliers(computing, stagesOf(stages, [5, 5, 5, 5, 5, 5]))).toEqual([]);
  expect(hasStages(stages)).toBe(true);
  const found = outliers([22, 30, 22, 28, 50, 28], stagesOf(stages, []));
  expect(found).toEqual([
    { index: 4, value: 50, median: 28 },
    { index: 1, value: 30, median: 22 },
  ]);
});

test("where nothing tells the stages, ranks that receive from each other are not compared", () => {
  const unknown = ranked(null, null, null);
  expect(outliers([22, 22, 28], stagesOf(unknown, [null, 0, 5]))).toEqual([]);
  expect(outliers([22, 22, 28], stagesOf(unknown, [null, 0, 0]))).toEqual([{ index: 2, value: 28, median: 22 }]);
  expect(hasStages(unknown)).toBe(false);
});

test("ranks of a small stage, or of an unknown one, have too few peers", () => {
  expect(haveFewPeers([1, 1, 1, 2, 2, null])).toEqual([false, false, false, true, true, true]);
});
