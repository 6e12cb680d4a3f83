import { expect, test } from "vitest";
import { levelOf, type Piece, PieceCache, rowRanges, type Window, windowOf } from "../../src/timeline/cache";

function piece(level: number, start: number, end: number, exact = false): Piece<string> {
  return { window: { level, start, end }, asked: level, exact, data: `${level}:${start}` };
}

function batch(...pieces: Piece<string>[]): Map<number, Piece<string>> {
  return new Map(pieces.map((one, index) => [index + 1, one]));
}

test("a bin of a level is at most a pixel and more than half of one", () => {
  expect([0.01, 1, 1.9, 2, 1000, 1024].map(levelOf)).toEqual([0, 0, 0, 1, 9, 10]);
});

test("a window covers the view and stays the same for small moves", () => {
  const view = { start: 1_000_000, scale: 100 };
  const window = windowOf(view, 1000, 50);
  expect(window.start).toBeLessThanOrEqual(view.start);
  expect(window.end).toBeGreaterThanOrEqual(1_100_000);
  expect(window.end - window.start).toBeLessThanOrEqual(3 * 100_000);
  expect(window.level).toBe(5);
  expect(windowOf({ start: 1_000_050, scale: 100 }, 1000, 50)).toEqual(window);
});

test("a piece is enough when it covers the range at least as finely, or when nothing was merged", () => {
  const cache = new PieceCache<string>(1000);
  cache.add(batch(piece(5, 0, 100)), 10);
  expect(cache.has(1, 10, 90, 5)).toBe(true);
  expect(cache.has(1, 10, 90, 6)).toBe(true);
  expect(cache.has(1, 10, 90, 4)).toBe(false);
  expect(cache.has(1, 10, 110, 5)).toBe(false);
  expect(cache.has(2, 10, 90, 5)).toBe(false);
  cache.add(batch(piece(9, 0, 1000, true)), 10);
  expect(cache.has(1, 10, 90, 0)).toBe(true);
});

test("while the wanted level is missing, coarser pieces are drawn first and finer ones over them", () => {
  const cache = new PieceCache<string>(1000);
  cache.add(batch(piece(12, 0, 10_000)), 10, true);
  cache.add(batch(piece(8, 0, 1000)), 10);
  cache.add(batch(piece(3, 400, 480)), 10);
  expect(cache.pieces(1, 100, 900, 4).map((one) => one.data)).toEqual(["8:0", "3:400"]);
  expect(cache.pieces(1, 2000, 3000, 4).map((one) => one.data)).toEqual(["12:0"]);
  expect(cache.pieces(1, 20_000, 30_000, 4)).toEqual([]);
});

test("the batch that was used longest ago leaves first; kept ones and the newest stay", () => {
  const cache = new PieceCache<string>(100);
  cache.add(batch(piece(9, 0, 10_000)), 40, true);
  cache.add(batch(piece(5, 0, 100)), 30);
  cache.add(batch(piece(5, 100, 200)), 30);
  expect(cache.has(1, 0, 100, 5)).toBe(true);
  cache.add(batch(piece(5, 200, 300)), 30);
  expect(cache.has(1, 0, 100, 5)).toBe(true);
  expect(cache.has(1, 100, 200, 5)).toBe(false);
  expect(cache.size).toBe(100);
  cache.add(batch(piece(5, 300, 400)), 500);
  expect(cache.has(1, 300, 400, 5)).toBe(true);
  expect(cache.has(1, 0, 10_000, 9)).toBe(true);
});

test("what is kept for the whole range leaves the other half to the rows in sight", () => {
  const cache = new PieceCache<string>(100);
  for (let index = 0; index < 5; index++) cache.add(new Map([[index, piece(9, 0, 10_000)]]), 30, true);
  expect(cache.has(3, 0, 10_000, 9)).toBe(true);
  cache.add(new Map([[10, piece(5, 0, 100)]]), 25);
  cache.add(new Map([[11, piece(5, 0, 100)]]), 25);
  expect([10, 11].map((row) => cache.has(row, 0, 100, 5))).toEqual([true, true]);
  expect(cache.size).toBeLessThanOrEqual(100);
});

test("small answers do not pile up: each frame looks through all of them", () => {
  const cache = new PieceCache<string>(2 ** 20);
  for (let index = 0; index < 2000; index++) cache.add(new Map([[index, piece(0, index, index + 1)]]), 1);
  expect(cache.size).toBe(256);
  expect(cache.has(1999, 1999, 2000, 0)).toBe(true);
});

test("rows of neighbouring numbers are ranges", () => {
  expect(rowRanges([8192, 4097, 4096, 4098, 12288])).toEqual([
    [4096, 4098],
    [8192, 8192],
    [12288, 12288],
  ]);
  expect(rowRanges([])).toEqual([]);
});

test("windows of neighbouring zooms nest, so a parent covers its children", () => {
  const widths: Window[] = [100, 50, 25].map((scale) => windowOf({ start: 5_000_000, scale }, 1000, scale));
  for (const [index, window] of widths.slice(1).entries()) {
    const parent = widths[index] as Window;
    expect(parent.start).toBeLessThanOrEqual(window.start);
    expect(parent.end).toBeGreaterThanOrEqual(window.end);
  }
});
