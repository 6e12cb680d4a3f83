import { describe, expect, it } from "vitest";
import type { TraceRankJson } from "../../../src/api/types.gen";
import type { RankPlace } from "../../../src/views/trace/ranks/choice";
import {
  groupings,
  groupWaits,
  itemsBetween,
  layOutStrips,
  type StripOrder,
} from "../../../src/views/trace/ranks/strip_layout";

const place = (rank: number, run = "r"): RankPlace => ({
  span: `${run}${rank}`,
  worker: "",
  name: `rank ${rank}`,
  run,
  rank,
});
const places = (count: number) => Array.from({ length: count }, (_, rank) => place(rank));
const line = (rank: number, more: Partial<TraceRankJson> = {}) =>
  ({ span: `r${rank}`, rank, host: `h${rank >> 2}`, pipeline_stage: null, times: [], ...more }) as TraceRankJson;
const known = (lines: TraceRankJson[] = [], stragglers: string[] = []) => ({
  lines,
  groups: [],
  stragglers: new Set(stragglers),
  parts: ["computing", "overlapped", "waiting", "free"],
});
const ORDER: StripOrder = { grouping: "none", sort: "rank", folded: new Set() };
const spansOf = (layout: ReturnType<typeof layOutStrips>) =>
  layout.items.map((item) => (item.kind === "rank" ? item.place.span : `[${item.key}]`));

describe("layout of the strips", () => {
  it("gives few ranks high strips with names, and many ranks low ones", () => {
    const heights = [2, 8, 9, 16, 17, 64].map((count) => layOutStrips(places(count), known(), ORDER).height / count);
    expect(heights).toEqual([24, 24, 20, 20, 9, 9]);
    expect(
      layOutStrips(places(16), known(), ORDER).items.every((item) => item.kind === "rank" && item.isLabelled),
    ).toBe(true);
  });

  it("names each eighth of many ranks, and the straggler in place of names near it", () => {
    const named = (stragglers: string[]) =>
      layOutStrips(places(24), known([], stragglers), ORDER).items.flatMap((item) =>
        item.kind === "rank" && item.isLabelled ? [item.place.rank] : [],
      );
    expect(named([])).toEqual([0, 8, 16]);
    expect(named(["r13"])).toEqual([0, 8, 13, 16]);
    expect(named(["r9"])).toEqual([0, 9, 16]);
  });

  it("puts a heading above each group; a folded one has no strips", () => {
    const lines = places(8).map(({ rank }) => line(rank ?? 0));
    const layout = layOutStrips(places(8), known(lines), { ...ORDER, grouping: "host", folded: new Set(["h0"]) });
    expect(spansOf(layout)).toEqual(["[h0]", "[h1]", "r4", "r5", "r6", "r7"]);
    expect(layout.items.map(({ y }) => y)).toEqual([0, 22, 44, 68, 92, 116]);
    expect(layout.height).toBe(140);
    expect(itemsBetween(layout.items, 44, 92).map(({ y }) => y)).toEqual([44, 68]);
  });

  it("sorts by time, the longest first, also groups; a rank and its pair of another run stay together", () => {
    const times = [[5, 0, 9, 1], [1, 9, 3, 2], [4, 0, 1, 20], []];
    const lines = times.map((own, rank) => line(rank, { times: own, host: rank % 2 ? "odd" : "even" }));
    const shown = [place(0), place(0, "b"), place(1), place(2), place(3)];
    const order = (sort: StripOrder["sort"], grouping: StripOrder["grouping"] = "none") =>
      spansOf(layOutStrips(shown, known(lines), { ...ORDER, sort, grouping }));
    expect(order("computing")).toEqual(["r1", "r0", "b0", "r2", "r3"]);
    expect(order("waiting")).toEqual(["r0", "b0", "r1", "r2", "r3"]);
    expect(order("idle")).toEqual(["r2", "r1", "r0", "b0", "r3"]);
    expect(order("step")).toEqual(["r2", "r0", "b0", "r1", "r3"]);
    expect(order("computing", "host")).toEqual(["[odd]", "r1", "r3", "[even]", "r0", "b0", "r2"]);
  });

  it("offers the groupings that make several groups of several ranks", () => {
    const lines = places(8).map(({ rank }) => line(rank ?? 0, { pipeline_stage: (rank ?? 0) % 2 }));
    const groups = [
      { group: "1", title: "tp", spans: ["r0", "r1"] },
      { group: "2", title: "tp", spans: ["r2", "r3"] },
      { group: "3", title: "all", spans: places(8).map(({ span }) => span) },
    ];
    expect(groupings(places(8), { lines, groups })).toEqual(["host", "stage", "group:tp"]);
    const alone = lines.map((one) => ({ ...one, host: one.span, pipeline_stage: 1 }));
    expect(groupings(places(8), { lines: alone, groups: [] })).toEqual([]);
  });

  it("tells whom the ranks of a group await most, how many of them, and up to how long", () => {
    const waits = (rank: number, ns: number, waits_for: string | null) =>
      line(rank, { times: [1, 0, ns, 0], waits_for });
    const { parts } = known();
    const lines = [waits(0, 5, "13"), waits(1, 9, "13"), waits(2, 13, "2"), waits(3, 0, "13"), waits(4, 50, null)];
    expect(groupWaits(lines, parts)).toEqual({ rank: "13", count: 2, most: 9 });
    expect(groupWaits([waits(0, 0, "1"), line(1)], parts)).toBeNull();
  });
});
