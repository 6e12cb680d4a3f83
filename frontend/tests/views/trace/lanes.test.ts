import { signal } from "@preact/signals";
import { afterEach, expect, test, vi } from "vitest";
import type { SliceDetailJson } from "../../../src/api/types.gen";
import { laneOffset } from "../../../src/timeline/lanes";
import { rowNumber } from "../../../src/timeline/rows";
import { pairOffset } from "../../../src/views/trace/ranks/align_menu";
import { Lanes } from "../../../src/views/trace/ranks/lanes";
import { placeDescent, placeDetail } from "../../../src/views/trace/ranks/placement";
import { type LaneTimeline, requestRows } from "../../../src/views/trace/ranks/row_source";
import { askedOf, frame, LANE_SLICES, LANE_TRACKS } from "../../timeline/build";

const DERIVED = rowNumber(2 ** 19, 0);
const LANE_ROWS = rowNumber(LANE_TRACKS, 0);

/** Rank 0 is as recorded; the clock of rank 1 has another base and an offset. */
const LANES: Record<number, LaneTimeline> = {
  0: { span: "s0", version: "v0", base: "1000", offset: laneOffset(0, 0) },
  1: { span: "s1", version: "v1", base: "5000", offset: laneOffset(1, 4000 - 7) },
};

function slices(track: number, depth: number, id: number): Uint32Array {
  const column = (value: number) => ({ type: "u32" as const, values: [value] });
  const bars = { start: 10, dur: 5, end: 15, id, name: 0, count: 1, busy: 5 };
  const none = { type: "u32" as const, values: [] };
  const columns = {
    ...Object.fromEntries(Object.entries(bars).map(([key, value]) => [key, column(value)])),
    ...{ waiting: none, wait: none, work: none },
  };
  return new Uint32Array(
    frame(
      { base: "5100", unit: 1, bin: 1, names: ["a"], categories: [""], meanings: [""], rows: [[track, depth, 0, 1]] },
      columns,
    ),
  );
}

function curve(): Uint32Array {
  const f64 = { type: "f64" as const, values: [1] };
  const columns = { t0: { type: "u32" as const, values: [3] }, min0: f64, max0: f64, last0: f64 };
  return new Uint32Array(frame({ base: "5100", unit: 1, series: ["x"] }, columns));
}

afterEach(() => vi.unstubAllGlobals());

test("rows and counters of all ranks are one request, each by the clock of its rank", async () => {
  const asked: unknown[] = [];
  const column = (bytes: Uint32Array) => ({ type: "u32" as const, values: [...bytes] });
  const parts = ["stale", "ready", "ready"];
  const body = frame({ parts }, { 1: column(slices(0, 0, 0)), 2: column(slices(2, 1, 9)), "2.7": column(curve()) });
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(askedOf(url));
    return Promise.resolve(new Response(body));
  });
  const lost: [number, string][] = [];
  const query = {
    rows: [4096, 4097, DERIVED, LANE_ROWS + 8192, LANE_ROWS + 8193, 3 * LANE_ROWS],
    counters: [LANE_TRACKS + 7],
    window: { level: 3, start: 100, end: 900 },
    isExact: false,
  };
  const answer = await requestRows(
    query,
    "mat",
    (lane) => LANES[lane] ?? null,
    async (...one) => void lost.push(one),
    new AbortController().signal,
  );
  expect(asked).toHaveLength(1);
  const own = { span: "s0", version: "v0", zero: "1000", counters: [] };
  expect(asked[0]).toEqual({
    sources: [
      { ...own, layer: "trace", rows: [[1, 0, 1]] },
      { ...own, layer: "derived", rows: [[0, 0, 0]] },
      { span: "s1", version: "v1", layer: "trace", zero: "1007", rows: [[2, 0, 1]], counters: [7] },
    ],
    ...{ t0: 100, t1: 900, px: 8, exact: false, q: "mat" },
  });
  expect(lost).toEqual([[0, "stale"]]);
  const shown = answer.rows.map(({ row, origin, firstId, start }) => [row, origin, firstId, start.length]);
  expect(shown).toEqual([
    [DERIVED, 4100, 2 ** 31, 1],
    [LANE_ROWS + 8193, 5100 - 5000 + 3993, LANE_SLICES, 1],
    [LANE_ROWS + 8192, 0, 0, 0],
  ]);
  expect(answer.counters.get(LANE_TRACKS + 7)?.[0]?.time[0]).toBe(103 + 3993);
});

test("details of a slice of another rank have the numbers and times of the page", () => {
  const lane = laneOffset(2, -50);
  const detail = {
    id: 3,
    track: 4,
    start: 100,
    previous: null,
    next: 4,
    parent: { id: 1, name: "p" },
    derived: { lines: [], related: [{ role: "r", slice: { id: 9, track: 1, start: 70 } }], late_rank: null, view: "" },
  } as unknown as SliceDetailJson;
  expect(placeDetail(detail, lane, lane)).toMatchObject({
    id: 3 + 2 * LANE_SLICES,
    track: 4 + 2 * LANE_TRACKS,
    start: 50,
    previous: null,
    next: 4 + 2 * LANE_SLICES,
    parent: { id: 1 + 2 * LANE_SLICES },
    derived: { related: [{ slice: { id: 9 + 2 * LANE_SLICES, track: 1 + 2 * LANE_TRACKS, start: 20 } }] },
  });
  const table = { data: { id: [1, null], start: [60, 70], name: ["a", "b"] } };
  const descent = { nested: table, tasks: table, first: null, last: 60, previous: 2, next: null };
  const placed = placeDescent(descent as never, lane);
  expect(placed.tasks.data).toEqual({ id: [1 + 2 * LANE_SLICES, null], start: [10, 20], name: ["a", "b"] });
  expect([placed.first, placed.last, placed.previous, placed.next]).toEqual([null, 10, 2 + 2 * LANE_SLICES, null]);
});

test("a pair of slices is aligned by its starts or its ends", () => {
  const pair = { first: { start: 100, dur: 50 }, second: { start: 160, dur: 20 } } as never;
  expect([pairOffset(pair, "start"), pairOffset(pair, "end")]).toEqual([-60, -30]);
});

test("a rank of another run gives its number up when another run is compared", async () => {
  vi.stubGlobal("fetch", (url: string) => {
    const span = new URL(url, "http://x").searchParams.get("span");
    const answer = { state: "ready", base_ns: "0", data: { version: span, processes: [] } };
    return Promise.resolve(new Response(JSON.stringify(answer), { headers: { "Content-Type": "application/json" } }));
  });
  const place = (span: string) => ({ span, worker: span, name: span, run: span, rank: 0 });
  const all = signal([place("a"), place("b")]);
  const lanes = new Lanes({ span: "a", all, isPlaced: () => true } as never, () => "0", {} as never);
  const loaded = () => [...lanes.loaded.value].map(([number, lane]) => [number, lane.data.version]);
  await lanes.load(2);
  expect(loaded()).toEqual([[2, "b"]]);
  expect(lanes.forgetGone()).toEqual([]);
  all.value = [place("a"), place("c")];
  expect(lanes.forgetGone()).toEqual([2]);
  expect(loaded()).toEqual([]);
  const late = lanes.load(2);
  all.value = [place("a"), place("b")];
  expect(await late).toBeNull();
  await lanes.load(2);
  expect(loaded()).toEqual([[2, "b"]]);
});
