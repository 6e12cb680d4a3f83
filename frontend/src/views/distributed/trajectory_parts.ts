import type { ClusterFinding, ClusterJson, TableJson } from "../../api/types.gen";

/** The shown rows of the trajectory: the computed mean, the recorded average, or one step. */
export const MEAN = "mean";
export const RECORDED = "recorded";

/** Parts of a rank's bar by parallel mode; they do not overlap. */
const PARTS = {
  iteration: ["interval_ns", "fp_bp_ns", "tail_ns"],
  model: ["computation_ns", "communication_alone_ns"],
  pipeline: ["computation_ns", "collective_alone_ns", "receive_alone_ns"],
} as const;

export type TrajectoryKey = (typeof PARTS)[keyof typeof PARTS][number];

/** One rank in the chosen rows. */
export interface TrajectoryRow {
  rank: number | null;
  stage: number | null;
  parts: { key: TrajectoryKey; value: number | null }[];
  total: number | null;
}

/** Sets of parts in the files: by parallel mode, and by the points of the step. */
export function kindsOf(table: TableJson, mode: ClusterJson["mode"]): (keyof typeof PARTS)[] {
  const wanted = mode === "pipeline" ? "pipeline" : "model";
  const kinds: (keyof typeof PARTS)[] =
    mode === null || mode === "data" ? ["iteration", wanted] : [wanted, "iteration"];
  return kinds.filter((kind) => PARTS[kind].some((key) => table.data[key]?.some((value) => value !== null)));
}

/** Rows of one choice, in rank order; `stage` null: all. */
export function trajectoryRows(
  table: TableJson,
  kind: keyof typeof PARTS,
  choice: string,
  stage: number | null,
): TrajectoryRow[] {
  const at = (key: string, row: number) => (table.data[key]?.[row] ?? null) as number | null;
  const rows: TrajectoryRow[] = [];
  for (let row = 0; row < table.rows; row++) {
    const basis = table.data.basis?.[row];
    const isChosen = basis === "step" ? table.data.step?.[row] === choice : basis === choice;
    if (!isChosen || (stage !== null && at("stage", row) !== stage)) continue;
    const parts = PARTS[kind].map((key) => ({ key, value: at(key, row) }));
    const known = parts.flatMap(({ value }) => (value === null ? [] : [value]));
    const total = known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
    rows.push({ rank: at("rank", row), stage: at("stage", row), parts, total });
  }
  return rows.sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
}

/** The choices: the means, and the steps in order. */
export function choicesOf(table: TableJson): { steps: string[]; hasRecorded: boolean } {
  const bases = table.data.basis ?? [];
  const steps = (table.data.step ?? []).filter((step): step is string => typeof step === "string");
  return { steps: [...new Set(steps)], hasRecorded: bases.includes(RECORDED) };
}

/** The findings in order: fired rules, then outliers, then the rest. */
export function orderedFindings(findings: readonly ClusterFinding[], choice: string): ClusterFinding[] {
  const basis = choice === RECORDED ? RECORDED : MEAN;
  const weight = (one: ClusterFinding) => (one.outlier === true ? 0 : one.fires ? (one.outlier === null ? 1 : 2) : 3);
  return findings.filter((one) => one.basis === basis).sort((a, b) => weight(a) - weight(b));
}
