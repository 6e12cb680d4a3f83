import { expect, test } from "vitest";
import { stepPlaces } from "../../src/timeline/paint/steps";
import type { Scene, StepMark } from "../../src/timeline/scene";

function places(steps: Omit<StepMark, "device">[]): unknown[] {
  const marks = steps.map((step) => ({ ...step, device: "" }));
  // 100 px for the times 1000 to 2000.
  return stepPlaces({ gutter: 50, width: 150, view: { start: 1000, scale: 10 }, steps: marks } as unknown as Scene);
}

test("a step that began before the view keeps its name at the left edge; those beside it have none", () => {
  const found = places([
    { name: "1", start: 0, end: 900 },
    { name: "2", start: 900, end: 1500 },
    { name: "3", start: 1500, end: 3000 },
    { name: "4", start: 3000, end: 4000 },
  ]);
  expect(found).toEqual([
    { name: "2", left: 50, right: 100 },
    { name: "3", left: 100, right: 150 },
  ]);
});

test("steps of a few pixels have no place", () => {
  expect(places([{ name: "1", start: 1000, end: 1050 }])).toEqual([]);
});
