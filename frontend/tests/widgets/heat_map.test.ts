import { expect, test } from "vitest";
import { strengthOf } from "../../src/widgets/heat_map";

test("the smallest value is pale and the largest strong, both under the page's text", () => {
  expect(strengthOf(5, 5, 20)).toBe(12);
  expect(strengthOf(20, 5, 20)).toBe(60);
});

test("values that hardly differ look alike", () => {
  expect(strengthOf(14.7, 14.5, 14.7) - strengthOf(14.5, 14.5, 14.7)).toBeLessThan(6);
  expect(strengthOf(3, 3, 3)).toBe(60);
  expect(strengthOf(0, 0, 0)).toBe(60);
});
