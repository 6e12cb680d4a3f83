import { describe, expect, it } from "vitest";
import type { DistributedJson, RankBudget, StepParts } from "../../src/api/types.gen";
import { NO_STEP } from "../../src/state/period";
import { chosenCollective } from "../../src/views/distributed/arrivals";
import {
  canJoinGroups,
  cellRoom,
  groupsOf,
  groupTitle,
  matrixOf,
  transportsOf,
} from "../../src/views/distributed/links";
import { communicationParts } from "../../src/views/distributed/rank_bars";
import * as ranks from "../../src/views/distributed/ranks";
import { budgetParts, wholeOf } from "../../src/widgets";
import { linkRow } from "./link_row";

const PARTS: StepParts = {
  preparing: null,
  computing: 6,
  overlapped: 4,
  waiting: 5,
  communication: 25,
  bubble: null,
  copying: null,
  free: 5,
};
const UNKNOWN = Object.fromEntries(Object.keys(PARTS).map((id) => [id, null])) as unknown as StepParts;

function budget(span: string, step: string | null, over: Partial<RankBudget> = {}): RankBudget {
  return {
    span,
    worker: span,
    rank: null,
    device_id: null,
    step,
    computing: 10,
    overlapped: 4,
    communication_not_overlapped: 30,
    copying: null,
    free: 5,
    stage: 45,
    bubble: null,
    preparing: null,
    exposed_preparing: null,
    elapse: 34,
    transit: 20,
    wait: 8,
    synchronization: 1,
    idle: 5,
    incomplete: 0,
    repeats: null,
    same_kernels: null,
    same_kernels_expected: null,
    waiting: 6,
    before_transfer: 1,
    transfer: 15,
    small_packets: 5,
    rest: 7,
    exposed_waiting: 5,
    waiting_for: [],
    parts: PARTS,
    ...over,
  };
}

function distributed(over: Partial<DistributedJson>): DistributedJson {
  return {
    ranks: [],
    steps: [],
    step_count: over.steps?.length ?? 0,
    period: "step",
    budgets: [],
    groups: [],
    links: [],
    op_types: [],
    world_size: null,
    late_peers: [],
    arrivals: [],
    clocks: [],
    cluster: null,
    ...over,
  };
}

function state(span: string, rank: number | null, of: "ready" | "reading" | "failed" = "ready") {
  return {
    span,
    worker: `worker ${span}`,
    rank,
    pipeline_stage: null,
    state: of,
    reason: of === "failed" ? "truncated" : "",
    texts: {},
  };
}

describe("ranks", () => {
  it("keeps every rank in order, read or not", () => {
    const data = distributed({
      ranks: [state("b", 10), state("a", 2, "reading"), state("c", null, "failed")],
      steps: ["1"],
      budgets: [budget("b", "1")],
    });
    const lines = ranks.rankLines(data, "1");
    expect(lines.map((line) => [line.id, line.figures !== null])).toEqual([
      ["a", false],
      ["b", true],
      ["c", false],
    ]);
    expect(lines.map((line) => ranks.rankName(line))).toEqual(["rank 2", "rank 10", "worker c"]);
    expect(ranks.countStates(data.ranks)).toEqual({ ready: 1, reading: 1, failed: 1, missing: 0 });
  });

  it("has a line for each device of a rank that recorded several", () => {
    const budgets = [
      budget("a", "1", { device_id: 2 }),
      budget("a", "1", { device_id: 5, parts: { ...PARTS, computing: 7 } }),
      budget("a", "2", { device_id: 5, parts: { ...PARTS, computing: 70 } }),
      budget("a", "1", { parts: UNKNOWN, elapse: 3 }),
    ];
    const data = distributed({ ranks: [state("a", 4), state("b", 0)], steps: ["1", "2"], budgets });
    const lines = (step: string) =>
      ranks.rankLines(data, step).map((line) => [ranks.rankName(line), line.id, line.figures?.parts.computing]);
    expect(lines("1")).toEqual([
      ["rank 0", "b", undefined],
      ["rank 4 · device 2", "a 2", 6],
      ["rank 4 · device 5", "a 5", 7],
      ["rank 4", "a", null],
    ]);
    expect(lines("2").map(([, , computing]) => computing)).toEqual([undefined, undefined, 70, undefined]);
    expect(lines(ranks.ALL_STEPS).map(([, , computing]) => computing)).toEqual([undefined, 6, 77, null]);
  });

  it("takes one step, or sums over all; unknown stays unknown", () => {
    const budgets = [
      budget("a", "1"),
      budget("a", "2", { parts: { ...PARTS, free: null, computing: 1 } }),
      budget("a", null, { parts: { ...PARTS, computing: 7 } }),
    ];
    const data = distributed({ ranks: [state("a", 0)], steps: ["1", "2", null], budgets });
    const computing = (step: string) => ranks.rankLines(data, step)[0]?.figures?.parts.computing;
    expect([computing("1"), computing("2"), computing(NO_STEP), computing(ranks.ALL_STEPS)]).toEqual([6, 1, 7, 14]);
    expect(ranks.rankLines(data, "2")[0]?.figures?.parts.free).toBeNull();
    expect(ranks.rankLines(data, ranks.ALL_STEPS)[0]?.figures?.parts.free).toBe(10);
  });

  it("shows the chosen step, else the sum of all steps", () => {
    const data = distributed({ steps: ["5", null], step_count: 2 });
    const shown = ["", "9", "5", NO_STEP].map((wanted) => ranks.shownStep(data, wanted));
    expect(shown).toEqual([ranks.ALL_STEPS, ranks.ALL_STEPS, "5", NO_STEP]);
    expect(ranks.shownStep(distributed({ steps: ["5"] }), "")).toBe("5");
    // A sum over the first ones only would pass for the sum over all.
    expect(ranks.shownStep(distributed({ steps: ["5", "6"], step_count: 3 }), "")).toBe("5");
  });
});

describe("bars of ranks", () => {
  it("splits a step into parts that do not contain each other", () => {
    const data = distributed({
      ranks: [state("a", 0)],
      steps: ["1"],
      budgets: [budget("a", "1", { parts: { ...PARTS, communication: 18, bubble: 7, preparing: 3 } })],
    });
    const [bar] = ranks.barsOf(ranks.rankLines(data, "1"), budgetParts, false);
    expect(bar?.parts.map((part) => [part.id, part.value])).toEqual([
      ["computing", 6],
      ["overlapped", 4],
      ["waiting", 5],
      ["communication", 18],
      ["bubble", 7],
      ["free", 5],
      ["preparing", 3],
    ]);
    expect(bar?.total).toBe(45);
  });

  it("splits the elapsed time of communication into parts that sum to it", () => {
    const figures = budget("a", "1");
    expect(wholeOf(communicationParts(figures))).toBe(figures.elapse);
  });

  it("brings the longest to the top, those without a bar to the end; what stands outside does not count", () => {
    const data = distributed({
      ranks: [state("a", 0), state("b", 1, "reading"), state("c", 2)],
      steps: ["1"],
      budgets: [
        budget("a", "1", { parts: { ...PARTS, preparing: 500 } }),
        budget("c", "1", { parts: { ...PARTS, free: 100 } }),
      ],
    });
    const lines = ranks.rankLines(data, "1");
    const ids = (isLongestFirst: boolean) =>
      ranks.barsOf(lines, budgetParts, isLongestFirst).map((bar) => [bar.line.id, bar.total]);
    expect(ids(true)).toEqual([
      ["c", 140],
      ["a", 45],
      ["b", null],
    ]);
    expect(ids(false).map(([id]) => id)).toEqual(["a", "b", "c"]);
  });

  it("draws the lines of a rank on several devices where their figures are: steps by device, communication of the rank", () => {
    const steps = { elapse: null, rest: null };
    const rest = { parts: UNKNOWN };
    const data = distributed({
      ranks: [state("a", 0), state("b", 1, "reading")],
      steps: ["1"],
      budgets: [
        budget("a", "1", { ...steps, device_id: 0 }),
        budget("a", "1", { ...steps, device_id: 1 }),
        budget("a", "1", { ...rest, device_id: null }),
      ],
    });
    const lines = ranks.rankLines(data, "1");
    const ids = (parts: Parameters<typeof ranks.barsOf>[1]) =>
      ranks.barsOf(lines, parts, false).map((bar) => bar.line.id);
    expect(ids(budgetParts)).toEqual(["a 0", "a 1", "b"]);
    expect(ids(communicationParts)).toEqual(["a", "b"]);
  });
});

describe("a run without communication", () => {
  it("tells a run without communication", () => {
    const silent = budget("a", "1", { elapse: null, transit: null, communication_not_overlapped: 0 });
    expect(ranks.hasCommunication(distributed({ budgets: [silent] }))).toBe(false);
    // MindSpore up to 2.2 records how long data moved, not how long an operator took in all.
    expect(ranks.hasCommunication(distributed({ budgets: [{ ...silent, transit: 5 }] }))).toBe(true);
    expect(ranks.hasCommunication(distributed({ budgets: [budget("a", "1")] }))).toBe(true);
    expect(ranks.hasCommunication(distributed({ links: [linkRow(0, 1)] }))).toBe(true);
  });
});

describe("late ranks", () => {
  it("sums the waiting for a rank over the steps", () => {
    const late = { rank: 5, peer: null, group: "g", time: 9, exposed: 5, collectives: 2 };
    const budgets = [
      budget("a", "1", { waiting_for: [{ ...late, rank: 6, time: 10 }, late] }),
      budget("a", "2", { waiting_for: [late] }),
    ];
    const data = distributed({ ranks: [state("a", 0)], steps: ["1", "2"], budgets });
    const [line] = ranks.rankLines(data, ranks.ALL_STEPS);
    expect(line?.figures?.waiting_for).toEqual([
      { ...late, time: 18, exposed: 10, collectives: 4 },
      { ...late, rank: 6, time: 10 },
    ]);
  });

  it("shows the collective with the longest spread, unless one is chosen", () => {
    const of = (operator: string, after: number) => ({
      ...{ step: "1", group: "g", operator, wait: 0, error: 0 },
      arrivals: [{ rank: 0, peer: 0, after, source: "start" as const }],
    });
    const all = [of("a", 3), of("b", 7), of("c", 5)];
    expect(chosenCollective(all, "")?.operator).toBe("b");
    expect(chosenCollective(all, "1 g c")?.operator).toBe("c");
  });
});

describe("links", () => {
  it("sums operator types; the bandwidth is that of the sums", () => {
    const links = [linkRow(0, 1), linkRow(0, 1, { op_type: "allgather", size_bytes: 300, time_ns: 10 })];
    const [cell] = matrixOf(links, "", "").cells;
    expect(cell).toMatchObject({ src: 0, dst: 1, size_bytes: 400, time_ns: 20, bandwidth: 20, transports: ["HCCS"] });
    expect(matrixOf(links, "", "allgather").cells[0]?.bandwidth).toBe(30);
  });

  it("has rows for sources only, and keeps local traffic apart", () => {
    const matrix = matrixOf([linkRow(0, 0, { transport: "LOCAL" }), linkRow(0, 3), linkRow(1, 0)], "", "");
    expect(matrix.rows).toEqual([0, 1]);
    expect(matrix.columns).toEqual([0, 1, 3]);
    expect(matrix.cells).toHaveLength(2);
    expect(matrix.local.map((cell) => cell.src)).toEqual([0]);
  });

  it("names ranks of the job where they are known, of the group where not", () => {
    const known = matrixOf([linkRow(0, 1, { src_rank: 8, dst_rank: 9 })], "", "");
    expect([known.rows, known.columns, known.isGroupRank]).toEqual([[8], [8, 9], false]);
    const unknown = matrixOf([linkRow(0, 1, { src_rank: null, dst_rank: null })], "", "");
    expect([unknown.rows, unknown.isGroupRank]).toEqual([[0], true]);
  });

  it("joins groups only where ranks of the job are known", () => {
    const links = [linkRow(0, 1), linkRow(0, 1, { group: "h", src_rank: null })];
    expect(groupsOf(links)).toEqual(["g", "h"]);
    expect(canJoinGroups(links)).toBe(false);
    expect(matrixOf(links, "h", "").cells).toHaveLength(1);
  });

  it("keeps what is unknown unknown", () => {
    const [cell] = matrixOf([linkRow(0, 1, { size_bytes: null, time_ns: 0, transport: null })], "", "").cells;
    expect(cell).toMatchObject({ size_bytes: null, bandwidth: null, transports: [] });
  });

  it("lists transports and makes room by the number of ranks", () => {
    const { cells } = matrixOf(
      [linkRow(0, 1), linkRow(0, 1, { transport: "RDMA" }), linkRow(0, 2, { transport: "PCIE" })],
      "",
      "",
    );
    expect(transportsOf(cells)).toEqual(["HCCS", "PCIE", "RDMA"]);
    expect([cellRoom(8), cellRoom(32), cellRoom(64)]).toEqual(["full", "narrow", "spot"]);
  });
});

it("names a group by its role and ranks", () => {
  const groups = [
    { group: "586", role: "tp", ranks: [0, 1] },
    { group: "x", role: "", ranks: [] },
    { group: "y", role: "", ranks: [...Array(9).keys()] },
  ];
  expect(["586", "x", "y", "z"].map((name) => groupTitle(groups, name))).toEqual([
    "tp (0, 1)",
    "x",
    "(0, 1, 2, 3, 4, 5, 6, 7, …)",
    "z",
  ]);
});
