import { describe, expect, it } from "vitest";
import type { DistributedJson, LinkJson, RankBudgetJson } from "../../src/api/types.gen";
import { communicationParts } from "../../src/views/distributed/communication";
import { canJoinGroups, cellRoom, groupsOf, matrixOf, transportsOf } from "../../src/views/distributed/links";
import * as ranks from "../../src/views/distributed/ranks";
import { budgetParts, wholeOf } from "../../src/widgets";

function budget(span: string, step: string | null, over: Partial<RankBudgetJson> = {}): RankBudgetJson {
  return {
    span,
    worker: span,
    rank: null,
    step,
    computing: 10,
    overlapped: 4,
    communication_not_overlapped: 30,
    free: 5,
    stage: 45,
    bubble: null,
    preparing: null,
    elapse: 34,
    transit: 20,
    wait: 8,
    synchronization: 1,
    idle: 5,
    incomplete: 0,
    late: null,
    ...over,
  };
}

function distributed(over: Partial<DistributedJson>): DistributedJson {
  return {
    ranks: [],
    steps: [],
    budgets: [],
    groups: [],
    links: [],
    op_types: [],
    world_size: null,
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
  };
}

function link(src: number, dst: number, over: Partial<LinkJson> = {}): LinkJson {
  return {
    rank: src,
    step: "1",
    group: "g",
    op_type: "allreduce",
    src,
    dst,
    src_rank: src,
    dst_rank: dst,
    transport: "HCCS",
    size_bytes: 100,
    time_ns: 10,
    bandwidth: 10,
    ...over,
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
    expect(lines.map((line) => ranks.rankName(line.state))).toEqual(["rank 2", "rank 10", "worker c"]);
    expect(ranks.countStates(data.ranks)).toEqual({ ready: 1, reading: 1, failed: 1, missing: 0 });
  });

  it("takes one step, or sums over all; unknown stays unknown", () => {
    const budgets = [
      budget("a", "1"),
      budget("a", "2", { free: null, computing: 1 }),
      budget("a", null, { computing: 7 }),
    ];
    const data = distributed({ ranks: [state("a", 0)], steps: ["1", "2", null], budgets });
    const computing = (step: string) => ranks.rankLines(data, step)[0]?.figures?.computing;
    expect([computing("1"), computing("2"), computing(ranks.NO_STEP), computing(ranks.ALL_STEPS)]).toEqual([
      10, 1, 7, 18,
    ]);
    expect(ranks.rankLines(data, "2")[0]?.figures?.free).toBeNull();
    expect(ranks.rankLines(data, ranks.ALL_STEPS)[0]?.figures?.free).toBe(10);
  });

  it("falls back to the first step", () => {
    const data = distributed({ steps: ["5", null] });
    expect([ranks.chosenStep(data, ""), ranks.chosenStep(data, "9"), ranks.chosenStep(data, ranks.NO_STEP)]).toEqual([
      "5",
      "5",
      "-",
    ]);
    expect(ranks.chosenStep(distributed({ steps: ["5"] }), ranks.ALL_STEPS)).toBe("5");
  });

  it("splits a step into parts that do not contain each other", () => {
    const data = distributed({
      ranks: [state("a", 0)],
      steps: ["1"],
      budgets: [budget("a", "1", { bubble: 7, preparing: 3 })],
    });
    const [bar] = ranks.barsOf(ranks.rankLines(data, "1"), budgetParts, false);
    expect(bar?.parts.map((part) => [part.id, part.value])).toEqual([
      ["computing", 6],
      ["overlapped", 4],
      ["communication", 23],
      ["bubble", 7],
      ["free", 5],
      ["preparing", 3],
    ]);
    expect(bar?.total).toBe(45);
  });

  it("splits the elapsed time of communication into four parts that sum to it", () => {
    const figures = budget("a", "1");
    expect(wholeOf(communicationParts(figures))).toBe(figures.elapse);
  });

  it("brings the longest to the top, those without a bar to the end; what stands outside does not count", () => {
    const data = distributed({
      ranks: [state("a", 0), state("b", 1, "reading"), state("c", 2)],
      steps: ["1"],
      budgets: [budget("a", "1", { preparing: 500 }), budget("c", "1", { free: 100 })],
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

  it("tells a run without communication", () => {
    const silent = budget("a", "1", { elapse: null, transit: null, communication_not_overlapped: 0 });
    expect(ranks.hasCommunication(distributed({ budgets: [silent] }))).toBe(false);
    // MindSpore up to 2.2 records how long data moved, not how long an operator took in all.
    expect(ranks.hasCommunication(distributed({ budgets: [{ ...silent, transit: 5 }] }))).toBe(true);
    expect(ranks.hasCommunication(distributed({ budgets: [budget("a", "1")] }))).toBe(true);
    expect(ranks.hasCommunication(distributed({ links: [link(0, 1)] }))).toBe(true);
  });
});

describe("links", () => {
  it("sums operator types; the bandwidth is that of the sums", () => {
    const links = [link(0, 1), link(0, 1, { op_type: "allgather", size_bytes: 300, time_ns: 10 })];
    const [cell] = matrixOf(links, "", "").cells;
    expect(cell).toMatchObject({ src: 0, dst: 1, size_bytes: 400, time_ns: 20, bandwidth: 20, transports: ["HCCS"] });
    expect(matrixOf(links, "", "allgather").cells[0]?.bandwidth).toBe(30);
  });

  it("has rows for sources only, and keeps local traffic apart", () => {
    const matrix = matrixOf([link(0, 0, { transport: "LOCAL" }), link(0, 3), link(1, 0)], "", "");
    expect(matrix.rows).toEqual([0, 1]);
    expect(matrix.columns).toEqual([0, 1, 3]);
    expect(matrix.cells).toHaveLength(2);
    expect(matrix.local.map((cell) => cell.src)).toEqual([0]);
  });

  it("names ranks of the job where they are known, of the group where not", () => {
    const known = matrixOf([link(0, 1, { src_rank: 8, dst_rank: 9 })], "", "");
    expect([known.rows, known.columns, known.isGroupRank]).toEqual([[8], [8, 9], false]);
    const unknown = matrixOf([link(0, 1, { src_rank: null, dst_rank: null })], "", "");
    expect([unknown.rows, unknown.isGroupRank]).toEqual([[0], true]);
  });

  it("joins groups only where ranks of the job are known", () => {
    const links = [link(0, 1), link(0, 1, { group: "h", src_rank: null })];
    expect(groupsOf(links)).toEqual(["g", "h"]);
    expect(canJoinGroups(links)).toBe(false);
    expect(matrixOf(links, "h", "").cells).toHaveLength(1);
  });

  it("keeps what is unknown unknown", () => {
    const [cell] = matrixOf([link(0, 1, { size_bytes: null, time_ns: 0, transport: null })], "", "").cells;
    expect(cell).toMatchObject({ size_bytes: null, bandwidth: null, transports: [] });
  });

  it("lists transports and makes room by the number of ranks", () => {
    const { cells } = matrixOf(
      [link(0, 1), link(0, 1, { transport: "RDMA" }), link(0, 2, { transport: "PCIE" })],
      "",
      "",
    );
    expect(transportsOf(cells)).toEqual(["HCCS", "PCIE", "RDMA"]);
    expect([cellRoom(8), cellRoom(32), cellRoom(64)]).toEqual(["full", "narrow", "spot"]);
  });
});

describe("the rank that the others wait for", () => {
  const ofRanks = (...bare: [number | null, Partial<RankBudgetJson>?][]) => {
    const spans = bare.map((_, at) => `s${at}`);
    return distributed({
      ranks: spans.map((span, at) => state(span, at)),
      steps: ["1"],
      budgets: bare.map(([communication_not_overlapped, over], at) =>
        budget(`s${at}`, "1", { communication_not_overlapped, ...over }),
      ),
    });
  };
  const found = (data: DistributedJson) => ranks.awaited(ranks.rankLines(data, "1"));

  it("communicates least, by a good part of the step", () => {
    const late = found(ofRanks([30], [2], [25]));
    expect(late && [late.line.state.rank, late.communicated, late.others]).toEqual([1, 6, 29]);
    expect(found(ofRanks([5], [2], [6], [40]))).toBeNull();
  });

  it("is not told where communication is hidden as long as others take for it", () => {
    expect(found(ofRanks([30], [2, { overlapped: 32 }], [29]))).toBeNull();
  });

  it("is no rank for which the others never wait long at once", () => {
    // Launching takes the time, and hosts are as far apart at each of many collectives: 30 % of the step in sum, lost once.
    expect(found(ofRanks([30, { late: 0 }], [10, { late: 2 }], [31, { late: 1 }]))).toBeNull();
    const late = found(ofRanks([30, { late: 0 }], [10, { late: 4 }], [31, { late: 1 }]));
    expect(late && [late.line.state.rank, late.late]).toEqual([1, 4]);
  });

  it("is looked for among the ranks of a pipeline stage", () => {
    // Rank 2, of the second stage, waits for rank 0: it receives longer and communicates as long as its peer.
    const data = ofRanks([2], [30], [31, { bubble: 20 }], [31, { bubble: 1 }]);
    const stages = [1, 1, 2, 2];
    data.ranks = data.ranks.map((rank, at) => ({ ...rank, pipeline_stage: stages[at] ?? null }));
    const late = found(data);
    expect(late && [late.line.state.rank, late.others]).toEqual([0, 34]);
    data.ranks = data.ranks.map((rank, at) => ({ ...rank, pipeline_stage: at + 1 }));
    expect(found(data)).toBeNull();
  });

  it("is not told of one rank, of a pipeline whose stages are not known, or where a rank is not known", () => {
    expect(found(ofRanks([2]))).toBeNull();
    expect(found(ofRanks([30], [2, { bubble: 7 }]))).toBeNull();
    expect(found(ofRanks([30], [2], [null]))).toBeNull();
  });
});
