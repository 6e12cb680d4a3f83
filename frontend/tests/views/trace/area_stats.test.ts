import { afterEach, expect, test, vi } from "vitest";
import { TimelineApi } from "../../../src/views/trace/api";
import { AreaStats } from "../../../src/views/trace/range/area_stats";

const API = new TimelineApi("span", "1", () => {});
const answer = (slices: number) => ({ slices, parts: ["ready"], table: { data: {} } });
const AREA = { start: 0, end: 10, tracks: null };

afterEach(() => vi.unstubAllGlobals());

test("the figures of a range never stand under another one", async () => {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(answer(3))));
  const stats = new AreaStats(() => API);
  await stats.set(AREA);
  expect(stats.stats.value?.slices).toBe(3);
  void stats.set({ ...AREA, end: 99 });
  expect(stats.stats.value).toBeNull();
});

test("those of the same range in another reading of the trace stay until the new ones come", async () => {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(answer(3))));
  const stats = new AreaStats(() => API);
  await stats.set(AREA);
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(answer(5))));
  const renewed = stats.set({ ...AREA, start: 1, end: 11 }, true);
  expect(stats.stats.value?.slices).toBe(3);
  await renewed;
  expect(stats.stats.value?.slices).toBe(5);
});
