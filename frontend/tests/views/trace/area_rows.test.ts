import { afterEach, expect, test, vi } from "vitest";
import type { StatsJson } from "../../../src/api/types.gen";
import { laneOffset } from "../../../src/timeline/lanes";
import { TimelineApi } from "../../../src/views/trace/api";
import { askedOf, LANE_TRACKS } from "../../timeline/build";

/** Rank 2 is loaded, 40 ns later on the page than by its clock, and unfolded. */
const LANES: ConstructorParameters<typeof TimelineApi>[4] = {
  timelineOf: (lane) => (lane === 2 ? { span: "b", version: "7", base: "100", offset: laneOffset(2, 40) } : null),
  load: async () => null,
  reload: () => {},
  beside: () => [],
  peersOf: () => [],
  below: () => [2],
};
const API = new TimelineApi("a", "1", () => {}, "1000", LANES);
const AREA = { start: 3, end: 9, tracks: null };

afterEach(() => vi.unstubAllGlobals());

async function asked(of: (api: TimelineApi) => Promise<unknown>): Promise<string[]> {
  const urls: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    urls.push(url);
    return new Response(JSON.stringify({ parts: [], table: { data: {} }, data: {} }));
  });
  await of(API);
  const sources: { span: string; version: string; zero: string; tracks: number[] | null }[] = urls.flatMap(
    (url) => askedOf(url).sources,
  );
  return sources.map(({ span, version, zero, tracks }) => [span, version, zero, tracks?.join() ?? ""].join(":"));
}

test("the statistics of a range count the rows of each rank that it covers", async () => {
  const [own, other] = [5, 2 * LANE_TRACKS + 6];
  expect(await asked((api) => api.stats(AREA, "name"))).toEqual(["a:1:1000:", "b:7:60:"]);
  expect(await asked((api) => api.stats({ ...AREA, tracks: [own, other] }, "name"))).toEqual([
    "a:1:1000:5",
    "b:7:60:6",
  ]);
  expect(await asked((api) => api.stats({ ...AREA, tracks: [other] }, "name"))).toEqual(["b:7:60:6"]);
  expect(API.statsKey({ ...AREA, tracks: [3 * LANE_TRACKS] })).toBe("");
});

test("the slices behind a row are those of its track, its rank or its name", async () => {
  const members = (of: { track?: number; lane?: number }) =>
    asked((api) => api.members(AREA, { name: "", track: null, lane: null, count: 1, ...of }, {}));
  expect(await members({ track: 2 * LANE_TRACKS + 6, lane: 2 })).toEqual(["b:7:60:6"]);
  expect(await members({ lane: 0 })).toEqual(["a:1:1000:"]);
  expect(await members({})).toEqual(["a:1:1000:", "b:7:60:"]);
});

test("rows of the statistics have the numbers of the page", async () => {
  const found = { parts: ["ready", "ready"], table: { data: { part: [1, 0], track: [6, 5] } } };
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(found)));
  const { table }: StatsJson = await API.stats(AREA, "row");
  expect(table.data).toEqual({ part: [2, 0], track: [2 * LANE_TRACKS + 6, 5] });
});
