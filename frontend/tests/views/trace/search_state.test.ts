import { signal } from "@preact/signals";
import { afterEach, expect, test, vi } from "vitest";
import { TimelineApi } from "../../../src/views/trace/api";
import { type Hit, placeHits } from "../../../src/views/trace/ranks/placement";
import { Finder, SearchState } from "../../../src/views/trace/search/search_state";
import { askedOf, LANE_SLICES, LANE_TRACKS } from "../../timeline/build";

const API = new TimelineApi("span", "1", () => {});
const HITS: Hit[] = [
  [10, 100, 5, 0, 0, 0],
  [11, 200, 5, 0, 0, 1],
  [12, 300, 5, 0, 0, 0],
];

const RANKS = [{ state: "ready", version: "1", total: 3, marks: [] as number[] }];

function response(body: object): Response {
  return new Response(JSON.stringify({ parts: RANKS, kinds: [], ...body }));
}

function answer(body: object): void {
  vi.stubGlobal("fetch", async () => response(body));
}

afterEach(() => vi.unstubAllGlobals());

async function searched(): Promise<SearchState> {
  answer({ total: 3, first: 0, names: ["MatMul", "MatMulV2"], hits: HITS });
  const state = new SearchState(() => API);
  await state.run("matmul");
  return state;
}

test("the first step goes to the hit at or after the view, then around the ends", async () => {
  const state = await searched();
  for (const id of [11, 12, 10]) expect((await state.step(1, 150))?.[0]).toBe(id);
  expect((await state.step(-1, 150))?.[0]).toBe(12);
  expect(state.at.value).toBe(2);
});

test("the first step back goes to the hit before the view", async () => {
  expect((await (await searched()).step(-1, 150))?.[0]).toBe(10);
  expect((await (await searched()).step(-1, 50))?.[0]).toBe(12);
  expect((await (await searched()).step(1, 5000))?.[0]).toBe(10);
});

test("hits that are not here are fetched when they are stepped to", async () => {
  const all: Hit[] = Array.from({ length: 9 }, (_, id) => [id, id * 10, 5, 0, 0, 0]);
  const asked: number[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    const { near } = askedOf(url);
    asked.push(near);
    const place = all.filter((hit) => hit[1] < near).length;
    const first = Math.max(0, Math.min(place - 2, all.length - 4));
    return response({ total: 9, first, names: ["a"], hits: all.slice(first, first + 4) });
  });
  const state = new SearchState(() => API);
  await state.run("a", 0);
  expect((await state.step(1, 55))?.[0]).toBe(6);
  const ids = [7, 8, 0, 1, 2, 3, 4];
  for (const id of ids) {
    expect((await state.step(1, 0))?.[0]).toBe(id);
    expect(state.at.value).toBe(id);
  }
  for (const id of [3, 2, 1, 0, 8, 7, 6, 5, 4, 3]) expect((await state.step(-1, 0))?.[0]).toBe(id);
  expect(asked.length).toBeLessThan(14);
});

test("a failed search keeps no hits and says why", async () => {
  const state = await searched();
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 503 }));
  await state.run("other");
  expect(state.hits.value).toEqual([]);
  expect(state.error.value).toBeTruthy();
  answer({ total: 0, first: 0, names: [], hits: [] });
  await state.run("");
  expect(state.error.value).toBeNull();
});

test("another reading of the trace: the same hit stays on show, wherever it stands now", async () => {
  const state = await searched();
  await state.step(1, 150);
  answer({
    total: 5,
    first: 0,
    names: ["early", "MatMul", "MatMulV2"],
    hits: [
      [3, 40, 5, 0, 0, 1],
      [20, 1200, 5, 0, 0, 1],
      [21, 1200, 5, 0, 1, 2],
      [22, 1300, 5, 0, 0, 1],
    ],
  });
  await state.renew(1000);
  expect(state.at.value).toBe(2);
  await state.renew(7);
  expect(state.at.value).toBe(-1);
});

test("a step that waits for hits goes nowhere once another search was begun", async () => {
  answer({ total: 9, first: 0, names: ["a"], hits: HITS });
  const state = new SearchState(() => API);
  await state.run("a");
  let late: (response: Response) => void = () => {};
  vi.stubGlobal("fetch", () => new Promise<Response>((done) => (late = done)));
  const step = state.step(1, 5000);
  answer({ total: 3, first: 0, names: ["MatMul"], hits: HITS });
  expect(await state.run("matmul")).toBe(true);
  late(response({ total: 9, first: 6, names: ["a"], hits: HITS }));
  expect(await step).toBeNull();
  expect(state.at.value).toBe(-1);
});

test("a step while the first answer is under way goes to its hit", async () => {
  let late: (response: Response) => void = () => {};
  vi.stubGlobal("fetch", () => new Promise<Response>((done) => (late = done)));
  const state = new SearchState(() => API);
  void state.run("matmul");
  const step = state.step(1, 150);
  late(response({ total: 3, first: 0, names: ["MatMul", "MatMulV2"], hits: HITS }));
  expect((await step)?.[0]).toBe(11);
  expect(state.at.value).toBe(1);
});

test("a step while a search is under way goes nowhere once another one was begun", async () => {
  vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) => {
    return new Promise<Response>((_done, fail) => signal?.addEventListener("abort", () => fail(new Error("aborted"))));
  });
  const state = new SearchState(() => API);
  void state.run("a");
  const step = state.step(1, 0);
  answer({ total: 3, first: 0, names: ["MatMul"], hits: HITS });
  expect(await state.run("matmul")).toBe(true);
  expect(await step).toBeNull();
  expect(state.at.value).toBe(-1);
});

/** Rank 1 is 50 ns later on the page and is not loaded; the place of rank 2 is not known; rank 3 is not read. */
const BESIDE = [
  { lane: 1, span: "s1", version: "", zero: "950" },
  { lane: 2, span: "s2", version: "", zero: null },
  { lane: 3, span: "s3", version: "", zero: "1000" },
];
const SEVERAL = new TimelineApi("span", "1", () => {}, "1000", { beside: () => BESIDE } as never);

test("a search covers the ranks on the page: hits by time, ticks of each, what was not searched", async () => {
  const asked: { span: string; version: string; zero: string }[] = [];
  const ready = { state: "ready", version: "7", total: 1, marks: [90] };
  const parts = [
    { ...ready, total: 2, marks: [100, 300] },
    ready,
    { state: "unread", version: "", total: null, marks: [] },
  ];
  const hits = [
    [4, 90, 5, 6, 0, 0, 1],
    [10, 100, 5, 0, 0, 0, 0],
    [11, 300, 5, 0, 0, 0, 0],
  ];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(...askedOf(url).sources);
    return response({ parts, total: 3, first: 0, names: ["a"], hits });
  });
  const state = new SearchState(() => SEVERAL);
  await state.run("a", 95);
  expect(asked.map(({ span, version, zero }) => [span, version, zero])).toEqual([
    ["span", "1", "1000"],
    ["s1", "", "950"],
    ["s3", "", "1000"],
  ]);
  expect(state.ranks.value.map(({ lane, total }) => [lane, total])).toEqual([
    [0, 2],
    [1, 1],
    [2, null],
    [3, null],
  ]);
  expect(await state.step(-1, 95)).toEqual([LANE_SLICES + 4, 90, 5, LANE_TRACKS + 6, 0, 0]);
  expect([...state.ticks.value]).toEqual([
    [0, [100, 300]],
    [1, [90]],
    [2, []],
    [3, []],
  ]);
  expect(state.marks.value).toEqual([90, 100, 300]);
  await state.again();
  expect(state.at.value).toBe(0);
});

test("of more hits than are loaded, the ticks are those of the server", async () => {
  answer({ total: 9, first: 3, names: ["a", "b"], hits: HITS, parts: [{ ...RANKS[0], marks: [5, 6, 500] }] });
  const state = new SearchState(() => API);
  await state.run("a");
  expect(state.ticks.value.get(0)).toEqual([5, 6, 500]);
  expect(state.marks.value).toEqual([5, 6, 500]);
});

test("a rank whose list of hits is a table has the numbers of the page", () => {
  const table = { data: { part: [1, 0, 2], id: [1, 2, 3], track: [0, 1, 2], start: [9, 8, 7] } };
  const { data } = placeHits(table as never, [{ lane: 0, span: "span", version: "1", zero: "0" }, ...BESIDE]);
  expect(data.id).toEqual([LANE_SLICES + 1, 2, 3 * LANE_SLICES + 3]);
  expect(data.track).toEqual([LANE_TRACKS, 1, 3 * LANE_TRACKS + 2]);
  expect(data.start).toEqual([9, 8, 7]);
});

test.each([
  ["stays", "hits"],
  ["opens", "slice"],
])("the details of the first hit show unless another panel was opened during the search: %s", async (_, shown) => {
  answer({ total: 3, first: 0, names: ["MatMul", "MatMulV2"], hits: HITS });
  const panel = signal("slice");
  const port = { panel, save: vi.fn(), announcement: signal("") };
  const select = async () => {
    panel.value = "slice";
  };
  const finder = new Finder(port as never, new SearchState(() => API), { select } as never);
  const found = finder.find("matmul", true);
  if (shown === "hits") panel.value = "hits";
  await found;
  expect(panel.value).toBe(shown);
});
