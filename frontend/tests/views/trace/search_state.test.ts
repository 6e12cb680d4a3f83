import { afterEach, expect, test, vi } from "vitest";
import type { Hit } from "../../../src/views/trace/api";
import { SearchState } from "../../../src/views/trace/search_state";

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
  answer({ total: 7, names: ["MatMul", "MatMulV2"], hits: HITS });
  const state = new SearchState("span");
  await state.run("matmul");
  return state;
}

test("the first step goes to the hit at or after the view, then around the ends", async () => {
  const state = await searched();
  expect(state.total.value).toBe(7);
  expect(state.step(1, 150)?.[0]).toBe(11);
  expect(state.step(1, 150)?.[0]).toBe(12);
  expect(state.step(1, 150)?.[0]).toBe(10);
  expect(state.step(-1, 150)?.[0]).toBe(12);
});

test("the first step back goes to the hit before the view", async () => {
  expect((await searched()).step(-1, 150)?.[0]).toBe(10);
  expect((await searched()).step(-1, 50)?.[0]).toBe(12);
  expect((await searched()).step(1, 5000)?.[0]).toBe(10);
});

test("a failed search keeps no hits and says why", async () => {
  const state = await searched();
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 503 }));
  await state.run("other");
  expect(state.hits.value).toEqual([]);
  expect(state.error.value).toBeTruthy();
  answer({ total: 0, names: [], hits: [] });
  await state.run("");
  expect(state.error.value).toBeNull();
});
