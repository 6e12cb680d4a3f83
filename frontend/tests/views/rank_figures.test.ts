import { expect, test } from "vitest";
import type { RankStepJson, StepJson, StepTimes } from "../../src/api/types.gen";
import { figuresOf, isMean, type RankLine, rankLines } from "../../src/views/overview/rank_figures";

const PARTS = { computing: 10, communication: 30, free: 5 };
const STEP = { computing: 10, communication_not_overlapped: 30, free: 5, parts: PARTS } as StepJson;
const MEAN: StepTimes = {
  step: null,
  start_ns: null,
  total_ns: 9,
  gap_ns: null,
  fp_bp_ns: 6,
  tail_ns: 1,
  reduce_ns: null,
  preparing_ns: null,
  exposed_preparing_ns: null,
};

function line(state: RankStepJson["state"], step?: StepJson, course: StepTimes | null = null): RankLine {
  return {
    rank: { span: "a", worker: "a", rank: 0, pipeline_stage: null, state, steps: step ? [step] : [], course },
    step,
  };
}

const values = (of: RankLine, lines: RankLine[]) => figuresOf(lines).map((figure) => figure.value(of));

test("budgets of steps; a rank without one has no figure", () => {
  const lines = [line("ready", STEP), line("ready")];
  expect(lines.map((one) => values(one, lines))).toEqual([
    [10, 30, 5, 45],
    [null, null, null, null],
  ]);
});

test("recorded points where no rank has a budget; what is unknown stays unknown", () => {
  const lines = [line("reading"), line("ready", undefined, MEAN)];
  expect(lines.map((one) => values(one, lines))[1]).toEqual([null, 6, 1, 9]);
  expect(isMean(figuresOf(lines))).toBe(true);
});

test("ranks that are all read and know nothing have no columns", () => {
  expect(figuresOf([line("ready"), line("ready")])).toEqual([]);
  expect(figuresOf([line("ready"), line("reading")])).toHaveLength(4);
});

test("a rank that lacks the step has no figures, not those of another step", () => {
  const has = line("ready", { ...STEP, step: "11" }).rank;
  const lacks = line("ready", { ...STEP, step: "7" }).rank;
  const lines = rankLines([has, lacks], "11", null);
  expect(lines.map((one) => one.step?.step)).toEqual(["11", undefined]);
  expect(rankLines([lacks], null, null)[0]?.step?.step).toBe("7");
  expect(figuresOf(rankLines([lacks], "11", null))).toHaveLength(4);
});
