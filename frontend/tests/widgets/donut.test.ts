import { describe, expect, test } from "vitest";
import { arcPath, largestParts, OTHER } from "../../src/widgets/donut";

const parts = (...values: number[]) => values.map((value, index) => ({ id: `p${index}`, label: `p${index}`, value }));

describe("largest parts", () => {
  test("the rest is one part, and nothing is lost", () => {
    const drawn = largestParts(parts(1, 5, 3, 2, 4), 2);
    expect(drawn.map((part) => [part.id, part.value, part.count])).toEqual([
      ["p1", 5, 0],
      ["p4", 4, 0],
      [OTHER, 6, 3],
    ]);
    expect(drawn.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1);
  });

  test("one part alone is not called other", () => {
    expect(largestParts(parts(3, 2, 1), 2).map((part) => part.id)).toEqual(["p0", "p1", "p2"]);
  });

  test("parts of no size are left out", () => {
    expect(largestParts(parts(0, 2, -1), 5).map((part) => part.id)).toEqual(["p1"]);
    expect(largestParts([], 5)).toEqual([]);
  });

  test("what a long table did not list counts as other", () => {
    const drawn = largestParts(parts(6, 3), 2, { value: 1, count: 20 });
    expect(drawn.at(-1)).toMatchObject({ id: OTHER, value: 1, count: 20, share: 0.1 });
  });
});

test("a whole turn is still drawn", () => {
  const path = arcPath(0, 1, 74, 47);
  const [start, end] = [...path.matchAll(/[MA L](-?[\d.]+ -?[\d.]+)(?=[AL])/g)].map((match) => match[1]);
  expect(start).toBe("0.000 -74.000");
  expect(end).not.toBe(start);
  expect(path).toContain(" 0 1 1 ");
});
