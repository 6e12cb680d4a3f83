import { expect, it } from "vitest";
import type { CounterSeries } from "../../src/timeline/decode";
import { laneOffset } from "../../src/timeline/lanes";
import { counterTop } from "../../src/timeline/paint/counter";
import { thread } from "./build";

const series = { time: [0, 10, 20, 30], max: [1, 90, 3, 5], last: [1, 9, 3, 5] } as unknown as CounterSeries;

it("draws a recorded counter up to the largest of all its values, a derived one up to the largest in sight", () => {
  const recorded = { ...thread(3, "queue", 0, "counter"), max_value: 100 };
  const derived = { ...recorded, track: laneOffset(0, 0, "derived").track + 3 };
  expect(counterTop(recorded, [series], { start: 20, end: 30 })).toBe(100);
  expect(counterTop(derived, [series], { start: 20, end: 30 })).toBe(3);
  expect(counterTop(derived, [series], { start: 25, end: 40 })).toBe(5);
  expect(counterTop(derived, [series], { start: 15, end: 18 })).toBe(90); // it holds until the next value
  expect(counterTop(derived, [], { start: 0, end: 9 })).toBe(0);
});
