import { expect, test } from "vitest";
import { highest } from "../../src/base/outlier";

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
