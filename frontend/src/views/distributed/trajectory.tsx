import type { ClusterFinding, ClusterJson, TableJson } from "../../api/types.gen";
import { csvText } from "../../base/csv";
import * as format from "../../base/format";
import { t, tOr } from "../../i18n";
import { param, setParams } from "../../state/params";
import { place } from "../../state/selection";
import {
  type BarPart,
  Card,
  Legend,
  PagedItems,
  Segments,
  Select,
  StackedBar,
  TableCard,
  type Where,
} from "../../widgets";
import { filterRows } from "../../widgets/table/columnar";
import { linkTo } from "../../widgets/view_link";
import { BarList } from "./rank_bars";

const COLORS: Readonly<Record<TrajectoryKey, string>> = {
  interval_ns: "var(--c-free)",
  fp_bp_ns: "var(--c-compute)",
  tail_ns: "var(--c-mix)",
  computation_ns: "var(--c-compute)",
  communication_alone_ns: "var(--c-comm)",
  collective_alone_ns: "var(--c-comm)",
  receive_alone_ns: "var(--c-wait)",
};
/** Columns about the step, which is chosen above the table. */
const PARTS = ["total_ns", "interval_ns", "fp_bp_ns", "tail_ns"];
const PARALLEL = ["computation_ns", "communication_alone_ns", "collective_alone_ns", "receive_alone_ns", "stage_ns"];
const ONCE = ["flops", "flops_rate", "peak_bytes", "capacity_bytes"];

/** The steps of all ranks and the findings, for results of MindSpore up to 2.2. */
export function Trajectory({ cluster, table }: { cluster: ClusterJson; table: TableJson }) {
  const choice = param("d.basis") || MEAN;
  const kinds = kindsOf(table, cluster.mode);
  const kind = kinds.find((one) => one === param("d.kind")) ?? kinds[0];
  const stage = cluster.stages === null ? null : Number(param("d.stage")) || null;
  const rows = kind === undefined ? [] : trajectoryRows(table, kind, choice, stage);
  const isStep = choice !== MEAN && choice !== RECORDED;
  const where = [
    { column: "basis", value: isStep ? "step" : choice },
    ...(isStep ? [{ column: "step", value: choice }] : []),
    ...(stage === null ? [] : [{ column: "stage", value: String(stage) }]),
  ];
  const shown = rowsThat(table, where);
  return (
    <>
      <Findings cluster={cluster} choice={choice} />
      <Card
        title={t("trajectory.title")}
        subtitle={tOr(`trajectory.mode.${cluster.mode}`, t("trajectory.mode.unknown"))}
        help={t("trajectory.help")}
        actions={<Choices cluster={cluster} table={table} kinds={kinds} kind={kind} choice={choice} stage={stage} />}
        chart={{ name: "trajectory", csv: () => rowsCsv(rows) }}
      >
        <Bars rows={rows} />
      </Card>
      <TableCard
        title={t("trajectory.table")}
        table={shown}
        where={where}
        filters={
          stage === null
            ? []
            : [{ label: `${t("trajectory.stage")}: ${stage}`, clear: () => setParams({ "d.stage": null }) }]
        }
        columns={["rank", "stage", "count", ...PARTS, ...PARALLEL, ...ONCE].filter((key) =>
          shown.data[key]?.some((value) => value !== null),
        )}
        compared={[[...PARTS, ...PARALLEL]]}
      />
    </>
  );
}

/** A table with the chosen rows only, so that other rows do not affect its units. */
function rowsThat(table: TableJson, where: readonly Where[]): TableJson {
  const kept = [...filterRows(table, "", where)];
  const columns = Object.entries(table.data).map(([key, cells]) => [key, kept.map((row) => cells[row])]);
  return { ...table, data: Object.fromEntries(columns), rows: kept.length, total: kept.length };
}

interface ChoicesProps {
  cluster: ClusterJson;
  table: TableJson;
  kinds: readonly Kind[];
  kind: Kind | undefined;
  choice: string;
  stage: number | null;
}

function Choices({ cluster, table, kinds, kind, choice, stage }: ChoicesProps) {
  const { steps, hasRecorded } = choicesOf(table);
  const stages = Array.from({ length: cluster.stages ?? 0 }, (_, index) => String(index + 1));
  return (
    <>
      {kinds.length > 1 && kind && (
        <Segments
          label={t("trajectory.kind")}
          options={kinds.map((id) => ({ id, label: t(`trajectory.kind.${id === "iteration" ? id : "parallel"}`) }))}
          value={kind}
          onChange={(id) => setParams({ "d.kind": id === kinds[0] ? null : id })}
        />
      )}
      {stages.length > 1 && (
        <Select
          label={t("trajectory.stage")}
          prefix
          options={[{ id: "", label: t("trajectory.stage.all") }, ...stages.map((id) => ({ id, label: id }))]}
          value={stage === null ? "" : String(stage)}
          onChange={(id) => setParams({ "d.stage": id || null })}
        />
      )}
      <Select
        label={t("step.label")}
        prefix
        options={[
          { id: MEAN, label: t("trajectory.mean"), tip: t("trajectory.mean.tip") },
          ...(hasRecorded
            ? [{ id: RECORDED, label: t("trajectory.recorded"), tip: t("trajectory.recorded.tip") }]
            : []),
          ...steps.map((id) => ({ id, label: id })),
        ]}
        value={choice}
        onChange={(id) => setParams({ "d.basis": id === MEAN ? null : id })}
      />
    </>
  );
}

function Bars({ rows }: { rows: readonly TrajectoryRow[] }) {
  const whole = Math.max(1, ...rows.map((row) => row.total ?? 0));
  const unit = format.timeUnit(rows.map((row) => row.total));
  const parts = (row: TrajectoryRow): BarPart[] =>
    row.parts.map(({ key, value }) => ({ id: key, value, ...words(key) }));
  return (
    <>
      <BarList
        items={rows}
        bar={(row) => (
          <div key={row.rank} class="bar-row dist-bar">
            <RankLink row={row} />
            {row.total === null ? (
              <span class="muted">{t("distributed.none.figures")}</span>
            ) : (
              <StackedBar thin whole={whole} parts={parts(row)} />
            )}
            <span class="mono" data-tip={format.exactDuration(row.total)}>
              {row.total === null ? format.UNKNOWN : `${format.fixedDecimals(row.total / unit.scale, 2)} ${unit.name}`}
            </span>
          </div>
        )}
      />
      {rows[0] && <Legend parts={parts(rows[0])} />}
    </>
  );
}

/** The name of a rank, which leads to its steps. */
function RankLink({ row: { rank, stage } }: { row: TrajectoryRow }) {
  const { run } = place.value ?? {};
  const worker = run?.workers.find((one) => one.rank === rank);
  const span = worker?.spans[0];
  const name = stage === null ? `rank ${rank}` : t("trajectory.rank", { rank: rank ?? "–", stage });
  if (!run || !worker || !span) return <span class="ellipsis">{name}</span>;
  return (
    <a class="link ellipsis" {...linkTo("step_trace", { run: run.id, worker: worker.id, span: span.id })}>
      {name}
    </a>
  );
}

function words(key: TrajectoryKey) {
  return { label: t(`trajectory.part.${key}`), help: t(`trajectory.part.${key}.help`), color: COLORS[key] };
}

function rowsCsv(rows: readonly TrajectoryRow[]): string {
  const lines = rows.flatMap((row) => row.parts.map(({ key, value }) => [row.rank, row.stage, key, value]));
  return csvText(["rank", "stage", "part", "ns"], lines);
}

/** Findings with their figures; fired rules first. */
function Findings({ cluster, choice }: { cluster: ClusterJson; choice: string }) {
  const found = orderedFindings(cluster.findings, choice);
  if (found.length === 0) return null;
  return (
    <Card
      title={t("finding.title")}
      subtitle={t(choice === RECORDED ? "finding.of.recorded" : "finding.of.mean")}
      help={t("finding.help")}
    >
      {!cluster.complete && <p class="small">{t("finding.incomplete")}</p>}
      <PagedItems items={found} list="dist-findings">
        {(one) => (
          <li key={`${one.rule} ${one.stage} ${one.transport}`} class={one.fires ? "" : "muted"}>
            <span class={`chip ${one.fires && one.outlier !== false ? "bad" : ""}`}>
              {format.percentOfRatio(one.share, 2)}
            </span>
            <span>
              {sentence(one)} <span class="muted">{compareWithPeers(one)}</span>
            </span>
          </li>
        )}
      </PagedItems>
    </Card>
  );
}

/** The subject of a finding, and its figures. */
function sentence(one: ClusterFinding): string {
  const figures = {
    rank: one.rank ?? "–",
    stage: one.stage ?? "–",
    share: format.percentOfRatio(Math.abs(one.share), 2),
    limit: format.percentOfRatio(one.limit, 0),
    value: figure(one, one.value),
    mean: figure(one, one.mean),
    src: one.src ?? "–",
    dst: one.dst ?? "–",
    transport: one.transport ?? "",
  };
  return t(`finding.${one.rule}`, figures);
}

/** The comparison with the peers' median. */
function compareWithPeers(one: ClusterFinding): string {
  const parts: string[] = [];
  const isCompared = one.rule === "step_interval" || one.rule === "flops_per_second" || one.rule === "link";
  if (isCompared && one.outlier === null) parts.push(t("finding.few", { peers: one.peers }));
  if (isCompared && one.outlier !== null) {
    const key = one.outlier ? "finding.outlier" : "finding.usual";
    parts.push(t(key, { peers: one.peers, median: figure(one, one.median) }));
  }
  if (one.fires && one.gain_ns !== null && one.gain_ns > 0) {
    parts.push(t("finding.gain", { time: format.duration(one.gain_ns) }));
  }
  return parts.join(" ");
}

function figure(one: ClusterFinding, value: number | null): string {
  if (one.rule === "step_interval") return format.duration(value);
  if (one.rule === "link") return format.bandwidth(value);
  if (one.rule === "flops_per_second") return `${format.decimal(value, 1)} GFLOPS`;
  if (one.rule === "stage_flops") return `${format.decimal(value, 1)} MFLOPs`;
  return format.percentOfRatio(value, 2);
}

/** The shown rows of the trajectory: the computed mean, the recorded average, or one step. */
const MEAN = "mean";
const RECORDED = "recorded";

/** Parts of a rank's bar by parallel mode; they do not overlap. */
const KINDS = {
  iteration: ["interval_ns", "fp_bp_ns", "tail_ns"],
  model: ["computation_ns", "communication_alone_ns"],
  pipeline: ["computation_ns", "collective_alone_ns", "receive_alone_ns"],
} as const;

type Kind = keyof typeof KINDS;
type TrajectoryKey = (typeof KINDS)[Kind][number];

/** One rank in the chosen rows. */
interface TrajectoryRow {
  rank: number | null;
  stage: number | null;
  parts: { key: TrajectoryKey; value: number | null }[];
  total: number | null;
}

/** Sets of parts in the files: by parallel mode, and by the points of the step. */
function kindsOf(table: TableJson, mode: ClusterJson["mode"]): Kind[] {
  const wanted = mode === "pipeline" ? "pipeline" : "model";
  const kinds: Kind[] = mode === null || mode === "data" ? ["iteration", wanted] : [wanted, "iteration"];
  return kinds.filter((kind) => KINDS[kind].some((key) => table.data[key]?.some((value) => value !== null)));
}

/** Rows of one choice, in rank order; `stage` null: all. */
function trajectoryRows(table: TableJson, kind: Kind, choice: string, stage: number | null): TrajectoryRow[] {
  const at = (key: string, row: number) => (table.data[key]?.[row] ?? null) as number | null;
  const rows: TrajectoryRow[] = [];
  for (let row = 0; row < table.rows; row++) {
    const basis = table.data.basis?.[row];
    const isChosen = basis === "step" ? table.data.step?.[row] === choice : basis === choice;
    if (!isChosen || (stage !== null && at("stage", row) !== stage)) continue;
    const parts = KINDS[kind].map((key) => ({ key, value: at(key, row) }));
    const known = parts.flatMap(({ value }) => (value === null ? [] : [value]));
    const total = known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
    rows.push({ rank: at("rank", row), stage: at("stage", row), parts, total });
  }
  return rows.sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
}

/** The choices: the means, and the steps in order. */
function choicesOf(table: TableJson): { steps: string[]; hasRecorded: boolean } {
  const bases = table.data.basis ?? [];
  const steps = (table.data.step ?? []).filter((step): step is string => typeof step === "string");
  return { steps: [...new Set(steps)], hasRecorded: bases.includes(RECORDED) };
}

/** The findings in order: fired rules, then outliers, then the rest. */
function orderedFindings(findings: readonly ClusterFinding[], choice: string): ClusterFinding[] {
  const basis = choice === RECORDED ? RECORDED : MEAN;
  const weight = (one: ClusterFinding) => (one.outlier === true ? 0 : one.fires ? (one.outlier === null ? 1 : 2) : 3);
  return findings.filter((one) => one.basis === basis).sort((a, b) => weight(a) - weight(b));
}
