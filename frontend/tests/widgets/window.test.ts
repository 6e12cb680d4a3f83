import { describe, expect, test } from "vitest";
import { PRINTED_ROWS, printedRows, ROW_PX, rowWindow } from "../../src/widgets/table/window";

test("rows on screen and a few more", () => {
  const shown = rowWindow(1000, 100 * ROW_PX, 20 * ROW_PX, -1, 0);
  expect(shown.from).toBeLessThanOrEqual(100);
  expect(shown.to).toBeGreaterThanOrEqual(120);
  expect(shown.to - shown.from).toBeLessThan(60);
  expect(shown.top).toBe(shown.from * ROW_PX);
  expect(shown.height).toBe(1000 * ROW_PX);
});

test("open details push what is below them", () => {
  const shown = rowWindow(1000, 100 * ROW_PX, 20 * ROW_PX, 10, 50 * ROW_PX);
  expect(shown.from).toBeLessThanOrEqual(50);
  expect(shown.to).toBeGreaterThanOrEqual(70);
  expect(shown.top).toBe(shown.from * ROW_PX + 50 * ROW_PX);
});

test("a hidden table draws nothing", () => {
  const shown = rowWindow(1000, 0, 0, -1, 0);
  expect(shown.to).toBe(shown.from);
});

test("more rows than a browser can stack: the end of the scroll is the last row", () => {
  const count = 5_000_000;
  const top = rowWindow(count, 0, 500, -1, 0);
  expect(top.height).toBeLessThan(17_900_000);
  expect(top.from).toBe(0);
  const end = rowWindow(count, top.height - 500, 500, -1, 0);
  expect(end.to).toBe(count);
  // The drawn rows reach exactly the bottom.
  expect(end.top + (end.to - end.from) * ROW_PX).toBeCloseTo(top.height, 0);
});

test("a place beyond the end, left by rows that went, shows the last rows", () => {
  const shown = rowWindow(1000, 300_000 * ROW_PX, 20 * ROW_PX, -1, 0);
  expect(shown.to).toBe(1000);
  expect(shown.top).toBe(shown.from * ROW_PX);
  expect(shown.top).toBeLessThan(shown.height);
});

describe("rows that are printed", () => {
  test("all of a table, up to the limit", () => {
    expect(printedRows(300, () => true)).toBe(300);
    expect(printedRows(5_000_000, () => true)).toBe(PRINTED_ROWS);
  });

  test("none that is not here: printing does not wait", () => {
    expect(printedRows(5000, (place) => place < 400 || place >= 800)).toBe(400);
  });
});
