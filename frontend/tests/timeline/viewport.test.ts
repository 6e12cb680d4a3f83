import { expect, test } from "vitest";
import {
  clamp,
  fit,
  interpolateViews,
  MIN_SCALE,
  pan,
  reveal,
  sameView,
  show,
  timeAt,
  xAt,
  zoom,
} from "../../src/timeline/viewport";

const LIMITS = { start: 1_000, end: 101_000 };

test("zooming keeps the time under the pointer", () => {
  const view = { start: 5e15, scale: 4 };
  const closer = zoom(view, 0.5, 300);
  expect(closer.scale).toBe(2);
  expect(timeAt(closer, 300)).toBe(timeAt(view, 300));
});

test("times and pixels are each other's inverse", () => {
  const view = { start: 123, scale: 0.25 };
  expect(timeAt(view, xAt(view, 456))).toBe(456);
});

test("everything fits with a margin on both sides", () => {
  const view = fit(LIMITS, 1000);
  expect(xAt(view, LIMITS.start)).toBeCloseTo(19.23, 1);
  expect(xAt(view, LIMITS.end)).toBeCloseTo(1000 - 19.23, 1);
});

test("the view stays over the data and within the zoom range", () => {
  expect(clamp({ start: -1e9, scale: 1 }, LIMITS, 1000).start).toBe(fit(LIMITS, 1000).start);
  const right = clamp({ start: 1e9, scale: 1 }, LIMITS, 1000);
  expect(right.start + 1000).toBeCloseTo(103_000, 6);
  expect(clamp({ start: 0, scale: 1e9 }, LIMITS, 1000)).toEqual(fit(LIMITS, 1000));
  expect(clamp({ start: 2000, scale: 0 }, LIMITS, 1000).scale).toBe(MIN_SCALE);
});

test("an event of no length can be shown", () => {
  const view = show(50, 50, 1000);
  expect(view.scale).toBe(MIN_SCALE);
  expect(xAt(view, 50)).toBe(500);
});

test("revealing moves only when the slice is out of sight", () => {
  const view = { start: 0, scale: 1 };
  expect(reveal(view, 400, 500, 1000)).toEqual(view);
  const moved = reveal(view, 5000, 5100, 1000);
  expect(xAt(moved, 5050)).toBe(500);
  // Longer than the view: its start is in sight.
  const long = reveal(view, 5000, 50_000, 1000);
  expect(xAt(long, 5000)).toBeGreaterThanOrEqual(0);
  expect(xAt(long, 5000)).toBeLessThan(1000);
});

test("an animated step ends exactly at its aim and keeps the fixed point of a zoom", () => {
  const from = { start: 0, scale: 8 };
  const to = zoom(from, 0.25, 200);
  expect(interpolateViews(from, to, 1, 1000)).toEqual(to);
  const half = interpolateViews(from, to, 0.5, 1000);
  expect(half.scale).toBeLessThan(8);
  expect(timeAt(half, 200)).toBeCloseTo(1600, 6);
  const aside = interpolateViews(from, pan(from, 100), 0.5, 1000);
  expect(aside.start).toBeGreaterThan(0);
  expect(aside.start).toBeLessThan(800);
});

test("a view that was zoomed in, moved and brought back is the same: rounding does not count", () => {
  const home = show(123_457, 339_484_893, 1041, 0.02);
  for (const x of [0, 333, 520.5, 1041]) {
    const back = zoom(pan(pan(zoom(home, 0.8, x), 104.1), -104.1), 1 / 0.8, x);
    expect(sameView(back, home), `${x}`).toBe(true);
  }
  expect(sameView(pan(home, 1), home)).toBe(false);
  expect(sameView(zoom(home, 0.9999, 0), home)).toBe(false);
});
