import { describe, expect, it } from "vitest";
import type { RankLine } from "../../src/views/distributed/ranks";
import { slowRankTexts } from "../../src/views/distributed/slow_rank_texts";
import { slowRanks } from "../../src/views/distributed/slow_ranks";

/** Bare communication of each rank, and what else is not as usual. */
type Rank = [number | null, Partial<NonNullable<RankLine["figures"]>>?];

/** In ns what `ofRanks` has in ms. */
const MS = 1_000_000;

/** A step of 100 ms with 60 of computing, if it communicates 30. What the others wait for a rank is what they communicate longer. */
function ofRanks(...ranks: Rank[]): RankLine[] {
  return ranks.map(([communication_not_overlapped, over], rank) => ({
    state: { span: `s${rank}`, worker: "", rank, pipeline_stage: null, state: "ready", reason: "", texts: {} },
    id: `s${rank}`,
    device: null,
    figures: inNs({
      computing: 60,
      overlapped: 0,
      communication_not_overlapped,
      copying: null,
      free: 10,
      bubble: null,
      exposed_preparing: null,
      elapse: null,
      transit: null,
      wait: null,
      synchronization: null,
      idle: null,
      repeats: null,
      late: communication_not_overlapped === null ? null : 30 - communication_not_overlapped,
      idle_at_once: null,
      longest_communication: null,
      same_kernels: null,
      same_kernels_expected: null,
      ...over,
    }),
  }));
}

function inNs({ repeats, ...times }: NonNullable<RankLine["figures"]>): NonNullable<RankLine["figures"]> {
  const scaled = Object.entries(times).map(([key, time]) => [key, time === null ? null : time * MS]);
  return { ...Object.fromEntries(scaled), repeats };
}

const staged = (lines: RankLine[], ...stages: number[]) =>
  lines.map((line, at) => ({ ...line, state: { ...line.state, pipeline_stage: stages[at] ?? null } }));

const named = (lines: RankLine[]) => slowRanks(lines).map((one) => `${one.kind} ${one.line.state.rank}`);

describe("a rank that all others wait for", () => {
  it("communicates least, by a good part of the step", () => {
    const [late] = slowRanks(ofRanks([30], [2], [25]));
    expect(late).toMatchObject({
      kind: "awaited",
      line: { state: { rank: 1 } },
      communicated: 2 * MS,
      others: 25 * MS,
    });
    expect(named(ofRanks([5], [2], [6], [40]))).toEqual([]);
  });

  it("is not told where communication is hidden as long as others take for it", () => {
    expect(named(ofRanks([30], [2, { overlapped: 28 }], [29]))).toEqual([]);
  });

  it("is no rank for which the others never wait long at once", () => {
    // Launching takes the time, and hosts are as far apart at each of many collectives: 30 % of the step in sum, lost once.
    expect(named(ofRanks([30, { late: 0 }], [10, { late: 2 }], [31, { late: 1 }]))).toEqual([]);
    expect(slowRanks(ofRanks([30, { late: 0 }], [10, { late: 6 }], [31, { late: 1 }]))).toMatchObject([
      { late: 6 * MS },
    ]);
  });

  it("idles at once where no collective tells how long the others wait for it", () => {
    const unknown = { late: null };
    expect(named(ofRanks([30, unknown], [10, unknown], [31, unknown]))).toEqual([]);
    expect(named(ofRanks([30, unknown], [10, { ...unknown, idle_at_once: 6 }], [31, unknown]))).toEqual(["awaited 1"]);
  });

  it("is looked for in each stage of a pipeline", () => {
    // Rank 2, of the second stage, waits for rank 0: it receives longer and communicates as long as its peer.
    const data = ofRanks([2], [30], [31, { bubble: 20 }], [31, { bubble: 1 }]);
    expect(named(staged(data, 1, 1, 2, 2))).toEqual(["awaited 0"]);
    expect(named(staged(data, 1, 2, 3, 4))).toEqual([]);
    expect(named(staged(ofRanks([2], [30], [31], [1]), 1, 1, 2, 2))).toEqual(["awaited 3", "awaited 0"]);
  });

  it("is not told of one rank, of a pipeline whose stages are not known, or where a rank is not known", () => {
    expect(named(ofRanks([2]))).toEqual([]);
    expect(named(ofRanks([30], [2, { bubble: 7 }]))).toEqual([]);
    expect(named(ofRanks([30], [2], [null]))).toEqual([]);
  });
});

describe("hosts of healthy runs", () => {
  it("begin a little apart, which is much of a short step", () => {
    const short = (ms: number) => ({ computing: 0.01, free: 0.2, late: ms, idle_at_once: ms });
    expect(named(ofRanks([0.35, short(0)], [0.05, short(0.25)], [0.35, short(0)]))).toEqual([]);
    expect(named(ofRanks([0.45, short(0)], [0.05, short(0.35)], [0.45, short(0)]))).toEqual(["awaited 1"]);
  });
});

describe("a rank that runs the same kernels slower", () => {
  const kernels = (same_kernels: number, same_kernels_expected: number) => ({ same_kernels, same_kernels_expected });
  const stages = (slow: number) =>
    ofRanks([30, kernels(50, 50)], [30, kernels(50, 51)], [30, kernels(slow, 50)], [30, kernels(50, 49)]);

  it("is named where its stage has too few ranks to compare all that they compute", () => {
    expect(slowRanks(staged(stages(75), 1, 2, 3, 4))).toMatchObject([
      { kind: "slower", taken: 75 * MS, expected: 50 * MS },
    ]);
    expect(named(staged(stages(75), 1, 1, 2, 2))).toEqual(["slower 2"]);
    expect(named(staged(stages(54), 1, 2, 3, 4))).toEqual([]);
    // Of two ranks each is the other's measure.
    expect(named(staged(ofRanks([30, kernels(75, 50)], [30, kernels(50, 75)]), 1, 2))).toEqual(["slower 0"]);
    expect(named(staged(ofRanks([30, kernels(52, 50)], [30, kernels(50, 52)]), 1, 2))).toEqual([]);
    expect(named(stages(75))).toEqual([]);
  });

  it("is not told by kernels that are little of what it computes", () => {
    const lines = ofRanks([30, kernels(50, 50)], [30, kernels(50, 50)], [30, kernels(20, 10)], [30, kernels(50, 50)]);
    expect(named(staged(lines, 1, 2, 3, 4))).toEqual([]);
  });
});

describe("a rank that comes late where no collective tells", () => {
  const of = (idle_at_once: number, longest_communication: number | null) => ({
    idle_at_once,
    longest_communication,
    late: null,
  });

  it("has idled longer than the others", () => {
    expect(named(ofRanks([30, of(1, null)], [2, of(20, null)], [30, of(1, null)]))).toEqual(["awaited 1"]);
    // Launching takes the time: all of them idle as long.
    expect(named(ofRanks([30, of(20, null)], [2, of(20, null)], [30, of(20, null)]))).toEqual([]);
  });
});

describe("a rank that idles long at once", () => {
  const idle = (idle_at_once: number, longest_communication: number) => ({ idle_at_once, longest_communication });

  it("is named in any stage, while the others sit in one communication", () => {
    const lines = ofRanks([30, idle(3, 28)], [30, idle(25, 4)], [30, idle(2, 20)], [30, idle(3, 25)]);
    expect(slowRanks(staged(lines, 1, 2, 3, 4))).toMatchObject([{ kind: "idle", idle: 25 * MS, others: 20 * MS }]);
  });

  it("is not named where the others do something else meanwhile, idle as long, or are not known", () => {
    expect(named(ofRanks([30, idle(3, 28)], [30, idle(25, 4)], [30, idle(2, 9)]))).toEqual([]);
    expect(named(ofRanks([30, idle(16, 28)], [30, idle(25, 4)], [30, idle(18, 28)]))).toEqual([]);
    const lines = ofRanks([30, idle(3, 28)], [30, idle(25, 4)], [30, idle(3, 28)]);
    expect(named(lines)).toEqual(["idle 1"]);
    expect(named([...lines.slice(0, 2), { ...lines[2], figures: null } as RankLine])).toEqual([]);
    const unknown = { ...idle(3, 28), computing: null };
    expect(named(ofRanks([30, idle(3, 28)], [30, idle(25, 4)], [30, unknown]))).toEqual([]);
  });

  it("is held against one step of a capture that repeats its work and marks no steps", () => {
    const held = { idle_at_once: 0, longest_communication: 5 };
    const late = { idle_at_once: 5, longest_communication: 0 };
    const lines = (repeats: number | null) =>
      ofRanks(
        [30, { ...held, repeats }],
        [30, { ...late, repeats }],
        [30, { ...late, repeats }],
        [30, held],
        [30, held],
      );
    expect(named(lines(null))).toEqual([]);
    expect(named(lines(4))).toEqual(["idle 1", "idle 2"]);
  });

  it("may be one of several", () => {
    const lines = ofRanks(
      [30, idle(20, 9)],
      [30, idle(0, 28)],
      [30, idle(25, 4)],
      [30, idle(0, 28)],
      [30, idle(0, 30)],
    );
    expect(named(lines)).toEqual(["idle 2", "idle 0"]);
  });
});

describe("what is said of them", () => {
  it("names each once, by the strongest of what shows it", () => {
    const lines = ofRanks([30], [2, { computing: 90, idle_at_once: 28, longest_communication: 2 }], [30]);
    expect(slowRankTexts(lines, "1")).toEqual([
      "rank 1 is the straggler: it computes for 90.00 ms, 50 % above the median rank.",
    ]);
  });

  it("explains a late rank by what its device had to run; sums over the steps are no longest times", () => {
    const held = { idle_at_once: 0, longest_communication: 30, late: 0 };
    const lines = ofRanks([30, held], [2, { idle_at_once: 26, longest_communication: 2, late: 27 }], [30, held]);
    const [one] = slowRankTexts(lines, "1");
    expect(one).toMatch(/^rank 1 is the last.*2.00 ms.*waited up to 27.00 ms.*Its device was idle for 26.00 ms/);
    expect(slowRankTexts(lines, "*")).toEqual([
      "rank 1 is the last of the profiled ranks at collectives (2.00 ms communicating; every other at least 30.00 ms).",
    ]);
  });

  it("blames no host where another rank idles longer: both wait for somebody who was not recorded", () => {
    const of = (idle_at_once: number) => ({ idle_at_once, longest_communication: 30 });
    const lines = ofRanks([86, { ...of(25), late: 0 }], [68, { ...of(19), late: 17 }]);
    const [one] = slowRankTexts(lines, "1");
    expect(one).toContain("last of the profiled ranks");
    expect(one).not.toContain("launched late");
  });

  it("counts those beyond the fifth", () => {
    const slow: Rank[] = Array.from({ length: 6 }, () => [30, { computing: 90 }]);
    const rest: Rank[] = Array.from({ length: 8 }, () => [60]);
    const texts = slowRankTexts(ofRanks(...slow, ...rest), "1");
    expect(texts).toHaveLength(6);
    expect(texts[5]).toBe("1 more rank stands out.");
  });
});
