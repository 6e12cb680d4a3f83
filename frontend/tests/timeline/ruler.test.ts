import { expect, test } from "vitest";
import { niceStep, tickLabel, ticks } from "../../src/timeline/viewport";

test("steps are 1, 2 or 5 times a power of ten and never below 1 ns", () => {
  expect([0.01, 1, 1.2, 3, 7, 99, 100, 120_000].map(niceStep)).toEqual([1, 1, 2, 5, 10, 100, 100, 200_000]);
});

test("labels use the unit of the step and show what changes", () => {
  const thin = (text: string) => text.replaceAll("\u202f", " ");
  expect(tickLabel(30e6, 10e6)).toBe("30 ms");
  expect(thin(tickLabel(52_148_220, 20))).toBe("52 148 220 ns");
  expect(thin(tickLabel(52_148_000, 2_000))).toBe("52 148 µs");
  expect(thin(tickLabel(1.5e9, 5e8))).toBe("1 500 ms");
  expect(tickLabel(-0, 10)).toBe("0 ns");
  // The time under the pointer: finer than the ticks, in their unit.
  expect(tickLabel(70_050_000, 50_000, 10e6)).toBe("70.05 ms");
});

test("labelled ticks are at least the spacing apart and cover the view", () => {
  for (const scale of [0.013, 0.7, 12, 4321]) {
    const labelled = ticks({ start: 17_003, scale }, 1200, 90).filter((tick) => tick.label);
    expect(labelled.length).toBeGreaterThan(0);
    labelled.slice(1).forEach((tick, index) => {
      expect(tick.x - (labelled[index] as { x: number }).x).toBeGreaterThanOrEqual(89.99);
    });
  }
  expect(ticks({ start: 0, scale: 1 }, 0, 90)).toEqual([]);
});

test("labels count from the zero, ticks stay where their moment is", () => {
  const labelled = ticks({ start: 0, scale: 10 }, 400, 90, 70).filter((tick) => tick.label);
  expect(labelled.map(({ label, x }) => [label, x])).toEqual([
    ["0 µs", 7],
    ["1 µs", 107],
    ["2 µs", 207],
    ["3 µs", 307],
  ]);
});
