import { describe, expect, it } from "vitest";
import type { RunJson, TraceRanksJson } from "../../../src/api/types.gen";
import {
  collectiveKey,
  collectiveName,
  formatAlignment,
  formatOffsets,
  groupTitle,
  parseAlignment,
  parseOffsets,
  shiftsOf,
  shiftsOfOther,
} from "../../../src/views/trace/ranks/alignment";
import {
  firstChoice,
  formatChoice,
  pairedRanks,
  parseChoice,
  rankSets,
  ranksOf,
} from "../../../src/views/trace/ranks/choice";
import { changeOf, stepPairs, stepTime } from "../../../src/views/trace/ranks/step_differences";
import { covers, decodeStrips, timeBefore, timesIn, windowAround } from "../../../src/views/trace/ranks/strip_data";
import { fillShares } from "../../../src/views/trace/ranks/strip_paint";

const line = (span: string, clock: [string, number, number] | null, more = {}) => ({
  span,
  worker: span,
  rank: Number(span.slice(1)),
  host: "h",
  pipeline_stage: null,
  is_traced: true,
  start: 0,
  end: 9,
  clock: clock && { reference: clock[0], offset: clock[1], error: clock[2] },
  steps: [{ step: "7", start: 1000 * Number(span.slice(1)), times: [4, 5] }],
  numbers: [],
  times: [4, 5],
  waits_for: null,
  computing_ratio: null,
  ...more,
});
const collective = {
  step: "7",
  group: "g:1",
  operator: "all~Reduce",
  occurrence: 0,
  wait: 5,
  ends: [
    { span: "s1", end: 500 },
    { span: "s2", end: 740 },
  ],
};
const data: TraceRanksJson = {
  ranks: [],
  parts: ["computing", "free"],
  period: "step",
  lines: [line("s0", ["s0", 0, 0]), line("s1", ["s0", 100, 7]), line("s2", ["s0", 300, 4]), line("s3", null)],
  stragglers: ["s1"],
  representatives: [],
  groups: [],
  collectives: [collective],
};
const shifts = (open: string, align: string, hand = "") =>
  Object.fromEntries(
    [...shiftsOf(data, open, parseAlignment(align), parseOffsets(hand))].map(([span, { ns, error, by }]) => [
      span,
      [ns, error, by],
    ]),
  );

describe("alignment", () => {
  it("makes clocks equal to that of the open rank, with the sum of the errors", () => {
    expect(shifts("s1", "")).toEqual({
      s0: [100, 7, "clock"],
      s1: [0, null, "alignment"],
      s2: [-200, 11, "clock"],
      s3: [0, null, "unknown"],
    });
    expect(shifts("s1", "recorded").s2).toEqual([0, null, "alignment"]);
  });

  it("puts the ends of a collective at one moment; other ranks follow their clocks", () => {
    const end = formatAlignment({ kind: "end", collective: collectiveKey(collective) });
    expect(shifts("s1", end)).toMatchObject({ s2: [-240, null, "alignment"], s0: [100, 7, "clock"] });
    // The open rank is no member: the first member keeps the place that its clock gives it.
    const found = shifts("s0", end);
    expect(found.s1?.[0]).toBe(-100);
    expect(500 + Number(found.s1?.[0])).toBe(740 + Number(found.s2?.[0]));
  });

  it("puts the starts of a step at one moment, and adds offsets by hand to those of the others", () => {
    expect(shifts("s2", "step:7")).toMatchObject({ s0: [2000, null, "alignment"], s3: [-1000, null, "alignment"] });
    expect(shifts("s1", "", "s0:40,s1:15")).toMatchObject({ s0: [125, 7, "clock"], s1: [0, null, "alignment"] });
  });

  it("names a collective by what it does and its number in its group", () => {
    const name = (operator: string, occurrence = 0) => collectiveName({ operator, occurrence });
    expect(name("hcom_allReduce__587_6_1")).toBe("hcom_allReduce #6");
    expect(name("hcom_batchSendRecv__8a5_12_0")).toBe("hcom_batchSendRecv #12");
    expect(name("ncclAllReduce", 2)).toBe("ncclAllReduce #3");
    const title = (title: string) => groupTitle({ groups: [{ group: "g:1", title, spans: [] }] }, collective);
    expect([title("tp"), title("default_group")]).toEqual(["tp", ""]);
    expect(groupTitle(data, collective)).toBe("");
  });

  it("is the same after the way through a link", () => {
    for (const text of [
      "",
      "recorded",
      "step:a:b",
      formatAlignment({ kind: "end", collective: collectiveKey(collective) }),
    ]) {
      expect(formatAlignment(parseAlignment(text))).toBe(text);
    }
    expect(parseAlignment("step:")).toEqual({ kind: "clock" });
    expect(formatOffsets(parseOffsets("a:-5,b:x,c:0,d:7"))).toBe("a:-5,d:7");
  });
});

describe("another run", () => {
  /** Its clocks differ from those of the open run; step 9 of o1 starts at 5000. */
  const step = (number: string, start: number, times = [8, 9]) => ({ step: number, start, times });
  const lines = [
    line("o1", ["o1", 0, 0], { rank: 1, start: 4000, steps: [step("9", 5000), step("10", 6000)] }),
    line("o2", ["o1", 40, 3], { rank: 2, steps: [step("9", 5100, [])] }),
  ];
  const other = { ...data, lines, collectives: [] };
  const moved = (align: string, hand = "", own: Pick<TraceRanksJson, "lines"> = data) =>
    Object.fromEntries(
      [...shiftsOfOther(own, other, "s1", parseAlignment(align), parseOffsets(hand))].map(([span, { ns }]) => [
        span,
        ns,
      ]),
    );

  it("is moved as a whole, by the first step of the open rank and of the same rank", () => {
    expect(moved("")).toEqual({ o1: 1000 - 5000, o2: 1000 - 5000 - 40 });
    expect(moved("recorded")).toEqual({ o1: -4000, o2: -4000 });
    expect(moved("", "o2:7,s1:100")).toEqual({ o1: -4100, o2: -4133 });
    const bare = { lines: [line("s1", null, { steps: [], start: 12 })] };
    expect(moved("", "", bare)).toEqual({ o1: 12 - 4000, o2: 12 - 4000 - 40 });
  });

  it("is aligned by a step that is chosen: each rank by its own", () => {
    const own = { lines: [line("s1", null, { steps: [step("9", 70), step("10", 90)] })] };
    expect(moved("step:10", "", own)).toEqual({ o1: 90 - 6000, o2: 90 - 6000 - 40 });
    expect(moved("step:9", "", own)).toEqual({ o1: 70 - 5000, o2: 70 - 5100 });
  });

  it("has each rank below the same rank of the open run", () => {
    const place = (span: string, rank: number | null) => ({ span, rank, worker: span, name: span, run: span[0] ?? "" });
    const found = pairedRanks([place("a0", 0), place("a1", 1), place("ax", null)], [place("b1", 1), place("bx", null)]);
    expect(found.map(({ span }) => span)).toEqual(["a0", "a1", "b1", "ax", "bx"]);
  });

  it("has its steps compared by number, else in order; those of unknown times are left out", () => {
    const texts = (own: TraceRanksJson) =>
      stepPairs(own, other).map(({ line, own, other }) => [line.span, own.step, other.step, stepTime(other)]);
    expect(texts(data)).toEqual([["o1", "7", "9", 17]]);
    const same = { ...data, lines: [line("s1", null, { steps: [step("8", 1), step("10", 2)] })] };
    expect(texts(same)).toEqual([["o1", "10", "10", 17]]);
    expect([changeOf(1000, 1009, 1000), changeOf(1000, 1010, 1000), changeOf(1000, 990, 1000)]).toEqual([
      "muted",
      "worse",
      "good",
    ]);
  });
});

describe("choice of ranks", () => {
  const run = {
    id: "r",
    workers: ["a", "b", "c"].map((id) => ({
      id,
      label: id,
      spans: id === "c" ? [{ id: "c1" }] : [{ id: `${id}1` }, { id: `${id}2` }],
    })),
  } as unknown as RunJson;

  it("takes the spans with the number of the open one", () => {
    expect(ranksOf(run, "b2").map(({ span }) => span)).toEqual(["a2", "b2"]);
    expect(ranksOf(run, "a1").map(({ span }) => span)).toEqual(["a1", "b1", "c1"]);
  });

  it("is kept in a link; ranks that are gone are left out", () => {
    const ranks = ranksOf(run, "a1");
    const parse = (text: string, first: string[] = []) =>
      parseChoice(text, ranks, new Set(first)).map(({ span }) => span);
    expect(parse(formatChoice(new Set(["a1", "b1", "c1"]), ranks))).toEqual(["a1", "b1", "c1"]);
    expect(formatChoice(new Set(["c1", "a1", "x"]), ranks)).toBe("a1.c1");
    expect(parse("c1.x", ["a1"])).toEqual(["c1"]);
    expect(formatChoice(new Set(), ranks)).toBe("none");
    expect(parse("none", ["a1"])).toEqual([]);
    expect(parse("", ["b1"])).toEqual(["b1"]);
  });

  it("is at first: all of a run of 2 to 64 ranks, of a larger one its representatives and the open rank", () => {
    const place = (rank: number, run = "r") => ({ span: `${run}${rank}`, worker: "", name: "", run, rank });
    const own = (count: number) => Array.from({ length: count }, (_, rank) => place(rank));
    const first = (count: number, representatives: string[] | null = null) => [
      ...firstChoice(own(count), "r9", representatives && { representatives }),
    ];
    expect(first(1)).toEqual([]);
    expect(first(2)).toEqual(["r0", "r1"]);
    expect(first(64)).toHaveLength(64);
    expect(first(65)).toEqual(["r9"]);
    expect(first(65, ["r3", "r9"]).sort()).toEqual(["r3", "r9"]);
    const others = [place(1, "o"), place(2, "o")];
    const shown = parseChoice("", pairedRanks(own(2), others), firstChoice(own(2), "r0", null));
    expect(shown.map(({ span }) => span)).toEqual(["r0", "r1", "o1"]);
  });

  it("offers the stage of the straggler, stages, groups and hosts of some ranks", () => {
    const lines = [1, 1, 2, 2].map((stage, at) =>
      line(`s${at}`, null, { pipeline_stage: stage, host: at < 3 ? "x" : "y" }),
    );
    const groups = [
      { group: "g", title: "tp", spans: ["s0", "s1"] },
      { group: "all", title: "", spans: ["s0", "s1", "s2", "s3"] },
    ];
    expect(rankSets({ ...data, lines, groups }).map(({ kind, name, spans }) => [kind, name, spans.join()])).toEqual([
      ["straggler", "1", "s0,s1"],
      ["stage", "1", "s0,s1"],
      ["stage", "2", "s2,s3"],
      ["group", "g", "s0,s1"],
      ["host", "x", "s0,s1,s2"],
    ]);
  });
});

function answer(): ArrayBuffer {
  const header = {
    t0: 100,
    t1: 140,
    bins: 4,
    unit: 2,
    parts: ["computing", "free"],
    strips: [
      { span: "a", state: "ready", waits: [[110, 120, "5", "3"]] },
      { span: "b", state: "reading", waits: [] },
    ],
    columns: { a: ["u32", 0, 8] },
  };
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const bytes = new Uint8Array(8 + text.length + 32);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x5542504e, true);
  view.setUint32(4, text.length, true);
  bytes.set(new TextEncoder().encode(text), 8);
  [5, 0, 1, 2, 0, 5, 4, 3].forEach((value, at) => {
    view.setUint32(8 + text.length + at * 4, value, true);
  });
  return bytes.buffer;
}

describe("strips", () => {
  it("give the time of each part in any stretch", () => {
    const found = decodeStrips(answer());
    expect([found.start, found.end]).toEqual([100, 140]);
    const strip = found.strips.get("a");
    if (!strip) throw new Error("no strip");
    expect(strip.waits).toEqual([{ start: 110, end: 120, rank: "5", via: "3" }]);
    expect(timesIn(found, strip, 100, 140)).toEqual([16, 24]);
    expect(timesIn(found, strip, 105, 125)).toEqual([6, 14]);
    expect(timesIn(found, strip, 0, 9999)).toEqual([16, 24]);
    expect(found.strips.get("b")?.sums).toEqual([]);
  });

  it("have for each pixel column the share of a part, as the sums say", () => {
    const found = decodeStrips(answer());
    const sums = found.strips.get("a")?.sums[1] ?? new Float64Array();
    for (const [start, scale] of [
      [90, 3.7],
      [100, 10],
      [117.3, 0.4],
    ] as const) {
      const shares = new Float64Array(20);
      fillShares(shares, found, sums, start, scale);
      const expected = Array.from(shares, (_, x) => {
        const [from, to] = [start + x * scale, start + (x + 1) * scale];
        return (timeBefore(found, sums, to) - timeBefore(found, sums, from)) / scale;
      });
      for (const [x, share] of shares.entries()) expect(share).toBeCloseTo(expected[x] ?? Number.NaN, 9);
      expect(Math.max(...shares)).toBeGreaterThan(0);
    }
  });

  it("are requested in bins of whole ns that cover the view at its resolution", () => {
    for (const [start, scale, width] of [
      [123.4, 0.02, 900],
      [-5e6, 1.7, 1200],
      [1e12, 3e6, 480],
      [0, 40, 5000],
    ] as const) {
      const view = { start, scale };
      const found = windowAround(view, width);
      const bin = (found.end - found.start) / found.bins;
      expect(Number.isInteger(bin) && Number.isInteger(found.start)).toBe(true);
      expect(found.bins).toBeLessThanOrEqual(4096);
      expect(covers(found, view, width)).toBe(true);
      expect(covers(found, { start: start + scale * width, scale }, width)).toBe(false);
      expect(covers(found, { start, scale: scale / 4 }, width)).toBe(bin === 1);
    }
  });
});
