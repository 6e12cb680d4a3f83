import { expect, test } from "vitest";
import { axisUnit, extent, tickStep, valueAt } from "../../src/widgets/line_series";

const line = { name: "a", color: "red", x: [0, 10, 10, 30], y: [1, 2, 3, null] };

test("a value holds until the next point", () => {
  expect(valueAt(line, 0)).toBe(1);
  expect(valueAt(line, 9.9)).toBe(1);
  expect(valueAt(line, 10)).toBe(3);
  expect(valueAt(line, 29)).toBe(3);
  expect(valueAt(line, 30)).toBeNull();
  expect(valueAt(line, -1)).toBeNull();
  expect(valueAt({ ...line, x: [], y: [] }, 0)).toBeNull();
});

test("the range of all lines", () => {
  expect(extent([line, { ...line, x: [-5] }])).toEqual([-5, 30]);
  expect(extent([{ ...line, x: [] }])).toBeNull();
});

test("ticks read well", () => {
  const ms = axisUnit("duration", 200e6);
  expect(tickStep(200e6, ms, 8, "duration")).toBe(50e6);
  const mib = axisUnit("bytes", 2110 * 1024 ** 2);
  expect(mib.name).toBe("GiB");
  expect(tickStep(800 * 1024 ** 2, axisUnit("bytes", 800 * 1024 ** 2), 4, "bytes")).toBe(256 * 1024 ** 2);
  expect(tickStep(0, ms, 8, "duration")).toBe(1e6);
});
