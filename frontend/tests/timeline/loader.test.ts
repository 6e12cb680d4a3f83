import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { rowRanges, type Window } from "../../src/timeline/cache";
import { emptyRow, type SliceRow } from "../../src/timeline/decode";
import { Loader } from "../../src/timeline/loader";
import type { RowAnswer, RowQuery } from "../../src/timeline/row_loader";
import { row } from "./build";

interface Asked {
  /** "needle:rows" in a search. */
  rows: string;
  counters: readonly number[];
  window: Window;
  isExact: boolean;
  signal: AbortSignal;
  /** Answers with these rows; "none": all are empty. */
  answer: (found: SliceRow[] | "none", counters?: number[]) => void;
  fail: (error: Error) => void;
}
const LIMITS = { start: 0, end: 1_000_000 };

function setUp() {
  const asked: Asked[] = [];
  const errors: unknown[] = [];
  const source = {
    rows: ({ rows, counters, window, isExact }: RowQuery, needle: string, signal: AbortSignal) =>
      new Promise<RowAnswer>((resolve, fail) => {
        const answer = (found: SliceRow[] | "none", curves: number[] = []) =>
          resolve({
            rows: found === "none" ? rows.map(emptyRow) : found,
            counters: new Map(curves.map((one) => [one, []])),
          });
        const ranges = rowRanges(rows).map(([first, last]) => (first === last ? first : `${first}-${last}`));
        const text = [needle, ranges.join(",")].filter(Boolean).join(":");
        asked.push({ rows: text, counters, window, isExact, signal, answer, fail });
      }),
    arrows: () => new Promise<ArrayBuffer>(() => {}),
  };
  const loader = new Loader(
    source,
    "0",
    LIMITS,
    () => {},
    (error) => errors.push(error),
  );
  const want = (
    start: number,
    scale: number,
    rows = [1, 2],
    more: { around?: number[]; needle?: string; counters?: number[] } = {},
  ) =>
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
  asked[0]?.answer("none");
  await vi.advanceTimersByTimeAsync(100);
  want(410_000, 100);
  want(400_000, 64);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toHaveLength(1);
});

/** `rows` with one bar of two slices each, and bins of `bin` ns. */
function answer(rows: number[], bin: number): SliceRow[] {
  return rows.map((number) => ({ ...row([[0, 30, 0, 2, 12, 9]], ["a"], bin), row: number }));
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
  asked[0]?.answer("none");
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
  asked[0]?.answer("none");
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

test("the overview is asked for once, after the rows in sight, and again after a failure", async () => {
  const { asked, errors, loader, want } = setUp();
  for (let call = 0; call < 2; call++) loader.overview([7], 1000, 1);
  want(400_000, 100);
  expect(asked.map((one) => one.rows)).toEqual(["1-2"]);
  asked[0]?.answer("none");
  await vi.advanceTimersByTimeAsync(10);
  expect(asked.map((one) => one.rows)).toEqual(["1-2", "7"]);
  asked[1]?.fail(new Error("gone"));
  await vi.advanceTimersByTimeAsync(10);
  loader.overview([7], 1000, 1);
  want(400_000, 100);
  await vi.advanceTimersByTimeAsync(100);
  expect([asked.length, errors.length, loader.idle]).toEqual([3, 1, false]);
  asked[2]?.answer("none");
  await vi.advanceTimersByTimeAsync(10);
  expect(loader.idle).toBe(true);
});

test("the overview is not asked for if the rows in sight hold it", async () => {
  const { asked, loader, want } = setUp();
  loader.overview([7], 1000, 1);
  want(0, 1000, [7, 8]);
  asked[0]?.answer("none");
  await vi.advanceTimersByTimeAsync(100);
  expect([asked.length, loader.idle]).toEqual([1, true]);
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

test("counters come in the request of the rows, and alone if only they are missing", async () => {
  const { asked, want } = setUp();
  want(400_000, 100, [1], { counters: [8] });
  await vi.advanceTimersByTimeAsync(100);
  asked[0]?.answer("none", [8]);
  await vi.advanceTimersByTimeAsync(100);
  want(400_000, 100, [1], { counters: [8, 9] });
  await vi.advanceTimersByTimeAsync(100);
  asked[1]?.answer([], [9]);
  await vi.advanceTimersByTimeAsync(100);
  want(400_000, 100, [1], { counters: [8, 9] });
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.map(({ rows, counters }) => [rows, counters])).toEqual([
    ["1", [8]],
    ["", [9]],
  ]);
});

test("rows are loaded again when their times changed", async () => {
  const { asked, want, loader } = setUp();
  want(400_000, 100, [1]);
  await vi.advanceTimersByTimeAsync(100);
  asked[0]?.answer("none");
  await vi.advanceTimersByTimeAsync(100);
  loader.clearRows();
  want(400_000, 100, [1]);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.map((one) => one.rows)).toEqual(["1", "1"]);
});
