import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Window } from "../../src/timeline/cache";
import { Loader } from "../../src/timeline/loader";
import { frame } from "./build";

interface Asked {
  rows: string;
  window: Window;
  isExact: boolean;
  signal: AbortSignal;
  answer: (buffer: ArrayBuffer) => void;
  fail: (error: Error) => void;
}

const NONE = frame(
  { base: "0", unit: 1, names: [], categories: [], rows: [] },
  Object.fromEntries(
    ["start", "dur", "end", "id", "name", "count", "busy"].map((key) => [key, { type: "u32", values: [] }]),
  ),
);
const LIMITS = { start: 0, end: 1_000_000 };

function setUp() {
  const asked: Asked[] = [];
  const errors: unknown[] = [];
  const source = {
    slices: (rows: string, window: Window, isExact: boolean, signal: AbortSignal) =>
      new Promise<ArrayBuffer>((answer, fail) => asked.push({ rows, window, isExact, signal, answer, fail })),
    hits: (needle: string, rows: string, window: Window, isExact: boolean, signal: AbortSignal) =>
      new Promise<ArrayBuffer>((answer, fail) =>
        asked.push({ rows: `${needle}:${rows}`, window, isExact, signal, answer, fail }),
      ),
    counter: () => new Promise<ArrayBuffer>(() => {}),
    arrows: () => new Promise<ArrayBuffer>(() => {}),
  };
  const loader = new Loader(
    source,
    "0",
    LIMITS,
    () => {},
    (error) => errors.push(error),
  );
  const want = (start: number, scale: number, rows = [1, 2], more: { around?: number[]; needle?: string } = {}) =>
    loader.want({
      view: { start, scale },
      width: 1000,
      ratio: 1,
      rows,
      around: [],
      counters: [],
      arrows: [],
      needle: "",
      ...more,
    });
  return { asked, errors, loader, want };
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("what is there is not asked for again, small moves included", async () => {
  const { asked, want } = setUp();
  want(400_000, 100);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.map((one) => one.rows)).toEqual(["1-2"]);
  expect(asked[0]?.window.level).toBe(6);
  asked[0]?.answer(NONE);
  await vi.advanceTimersByTimeAsync(100);
  want(410_000, 100);
  want(400_000, 64);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toHaveLength(1);
});

/** An answer for `rows`, one bar of two slices each, with bins of `bin` ns. */
function answer(rows: number[], bin: number): ArrayBuffer {
  const values = (value: number) => ({ type: "u32" as const, values: rows.map(() => value) });
  return frame(
    { base: "0", unit: 1, bin, names: ["a"], categories: [""], rows: rows.map((row, index) => [row, index, 1]) },
    {
      start: values(0),
      dur: values(9),
      end: values(30),
      id: values(1),
      name: values(0),
      count: values(2),
      busy: values(12),
    },
  );
}

test("rows that came with wider bins than a pixel are refined where they are in sight, some at a time", async () => {
  const { asked, want, loader } = setUp();
  const again = async () => {
    want(400_000, 100, [1, 2, 3], { around: [4, 5] });
    await vi.advanceTimersByTimeAsync(100);
  };
  await again();
  asked[0]?.answer(answer([1, 2, 3, 4, 5], 512));
  await vi.advanceTimersByTimeAsync(10);
  await again();
  await again();
  asked[1]?.answer(answer([1, 2], 64));
  await vi.advanceTimersByTimeAsync(10);
  await again();
  asked[2]?.answer(answer([3], 256));
  await vi.advanceTimersByTimeAsync(10);
  await again();
  expect(asked.map(({ rows, isExact }) => [rows, isExact])).toEqual([
    ["1-5", false],
    ["1-3", true],
    ["3", true],
  ]);
  expect(loader.caches.slices.has(3, 450_000, 460_000, 6)).toBe(true);
  expect(loader.caches.slices.has(4, 450_000, 460_000, 6)).toBe(false);
});

test("what a search finds is asked for each window; another search starts anew", async () => {
  const { asked, want, loader } = setUp();
  want(400_000, 100, [1], { needle: "mat" });
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.map(({ rows }) => rows)).toEqual(["1"]);
  asked[0]?.answer(NONE);
  await vi.advanceTimersByTimeAsync(10);
  want(400_000, 100, [1], { needle: "mat" });
  await vi.advanceTimersByTimeAsync(100);
  asked[1]?.answer(answer([1], 64));
  await vi.advanceTimersByTimeAsync(10);
  expect(loader.caches.hits.pieces(1, 400_000, 410_000, 6)).toHaveLength(1);
  want(400_000, 100, [1], { needle: "add" });
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.map(({ rows }) => rows)).toEqual(["1", "mat:1", "add:1"]);
  expect(loader.caches.hits.pieces(1, 400_000, 410_000, 6)).toEqual([]);
});

test("a view that went elsewhere gives up the request under way", async () => {
  const { asked, want, loader } = setUp();
  want(400_000, 100);
  await vi.advanceTimersByTimeAsync(100);
  want(800_000, 10);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toHaveLength(2);
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[0]?.answer(NONE);
  await vi.advanceTimersByTimeAsync(10);
  expect(loader.caches.slices.has(1, 450_000, 460_000, 20)).toBe(false);
  expect(loader.loading).toBe(true);
});

test("a failure is told once and asked again only on demand", async () => {
  const { asked, errors, want, loader } = setUp();
  want(400_000, 100);
  await vi.advanceTimersByTimeAsync(100);
  asked[0]?.fail(new Error("gone"));
  await vi.advanceTimersByTimeAsync(100);
  want(400_000, 100);
  await vi.advanceTimersByTimeAsync(100);
  expect([asked.length, errors.length]).toEqual([1, 1]);
  loader.retry();
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toHaveLength(2);
});

test("the overview is asked for once, and again after a failure", async () => {
  const { asked, errors, loader } = setUp();
  loader.overview([7], 1000, 1);
  loader.overview([7], 1000, 1);
  expect(asked.map((one) => one.rows)).toEqual(["7"]);
  asked[0]?.fail(new Error("gone"));
  await vi.advanceTimersByTimeAsync(10);
  loader.overview([7], 1000, 1);
  expect([asked.length, errors.length]).toEqual([2, 1]);
});

test("many moves in a row make few requests", async () => {
  const { asked, want } = setUp();
  for (let step = 0; step < 30; step++) {
    want(100_000 + step * 20_000, 20);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.length).toBeLessThanOrEqual(6);
});
