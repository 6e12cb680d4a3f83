import { afterEach, expect, test, vi } from "vitest";
import type { Hit } from "../../../src/views/trace/api";
import { TimelineApi } from "../../../src/views/trace/api";
import { SearchState } from "../../../src/views/trace/search/search_state";

const API = new TimelineApi("span", "1", () => {});
const HITS: Hit[] = [
  [10, 100, 5, 0, 0, 0],
  [11, 200, 5, 0, 0, 1],
  [12, 300, 5, 0, 0, 0],
];

function answer(body: object): void {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(body)));
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
    const near = Number(new URL(url).searchParams.get("near"));
    asked.push(near);
    const place = all.filter((hit) => hit[1] < near).length;
    const first = Math.max(0, Math.min(place - 2, all.length - 4));
    return new Response(JSON.stringify({ total: 9, first, names: ["a"], hits: all.slice(first, first + 4) }));
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
  late(new Response(JSON.stringify({ total: 9, first: 6, names: ["a"], hits: HITS })));
  expect(await step).toBeNull();
  expect(state.at.value).toBe(-1);
});

test("a step while the first answer is under way goes to its hit", async () => {
  let late: (response: Response) => void = () => {};
  vi.stubGlobal("fetch", () => new Promise<Response>((done) => (late = done)));
  const state = new SearchState(() => API);
  void state.run("matmul");
  const step = state.step(1, 150);
  late(new Response(JSON.stringify({ total: 3, first: 0, names: ["MatMul", "MatMulV2"], hits: HITS })));
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
