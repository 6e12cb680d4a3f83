import type { DataPipelineJson, LoaderJson, PipelineFinding, PipelineOp } from "../../api/types.gen";
import * as format from "../../base/format";
import { t, viewTitle } from "../../i18n";
import { type Key, TEXTS } from "../../i18n/dictionary";
import { type Answered, Card, type Fact, Facts, MissingList, spanView, TableCard } from "../../widgets";
import css from "./data_pipeline.css?inline";
import { Graph, nameOf } from "./graph";
import { BatchesCard, QueueCard } from "./queue";

/** Shows whether the data pipeline keeps up with the device, and which operator is the bottleneck. */
export const view = spanView("data_pipeline", DataPipeline, { css, obeys: [] });

function DataPipeline({ data, answer }: Answered<DataPipelineJson>) {
  const { batches, dataset, preprocess } = answer.tables;
  const hasPipeline = data.operators.length > 0 || data.queues.length > 0;
  return (
    <div class="grid">
      {hasPipeline && <Verdict data={data} hasBatches={(batches?.total ?? 0) > 0} />}
      {data.operators.length > 0 && (
        <Card title={t("data.graph")} subtitle={t("data.graph.sub")} help={t("data.graph.help")}>
          <Graph {...data} />
          <QueueCard {...data} />
        </Card>
      )}
      {data.loader && <LoaderCard loader={data.loader} />}
      {batches && <BatchesCard table={batches} />}
      <TableCard title={t("data.dataset")} table={dataset} />
      <TableCard title={t("data.preprocess")} table={preprocess} />
      {!hasPipeline && !data.loader && (
        <Card title={answer.missing.length > 0 ? viewTitle("data_pipeline") : t("data.loader")}>
          <MissingList missing={answer.missing} none={t("data.loader.none")} />
        </Card>
      )}
    </div>
  );
}

/** The verdict in a sentence, its figures, and what to do. */
function Verdict({ data, hasBatches }: { data: DataPipelineJson; hasBatches: boolean }) {
  const worst = data.operators.find((op) => op.op_id === data.bottleneck);
  const isBad = data.verdict === "processing" || data.verdict === "transfer";
  return (
    <Card title={t("data.verdict")} class="data-verdict-card">
      <p class={`lead ${isBad ? "bad" : ""}`}>
        {t(data.queues.length === 0 && !hasBatches ? "data.verdict.none" : `data.verdict.${data.verdict}`)}
      </p>
      <Facts
        facts={[
          ...data.queues.map(({ queue, empty, batches }): Fact => {
            const share = format.percent((100 * empty) / batches);
            const figures = { empty: format.integer(empty), batches: format.integer(batches), share };
            return [t(`data.queue.${queue}`), t("data.queue.empty", figures)];
          }),
          data.machine_cpu !== null && [t("data.machine"), format.percent(data.machine_cpu)],
        ]}
      />
      {data.operators.length > 0 && (
        <p>{worst ? t("data.bottleneck", { name: nameOf(worst) }) : t("data.bottleneck.none")}</p>
      )}
      {data.findings.length > 0 && (
        <>
          <h3>{t("data.findings")}</h3>
          <ul>
            {data.findings.map((finding) => (
              <li key={`${finding.rule} ${finding.op_id}`}>{findingText(finding, data.operators)}</li>
            ))}
          </ul>
        </>
      )}
      {data.remarks.length > 0 && (
        <details>
          <summary class="muted" data-tip={t("data.remarks.help")}>
            {t("data.remarks")}
          </summary>
          <ul>
            {data.remarks.map((remark) => (
              <li key={remark.text} class="small">
                {remark.text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  );
}

/** The text of a rule; some operators have a special text. CPU values are percentages, queue usage is a ratio. */
export function findingText(finding: PipelineFinding, operators: readonly PipelineOp[]): string {
  const op = operators.find((item) => item.op_id === finding.op_id);
  const isCpu = finding.rule.startsWith("busy") || finding.rule.startsWith("idle");
  const scale = isCpu ? 1 : 100;
  const general = `data.rule.${finding.rule}` as const;
  const own = `${general}.${op?.name.replace(/Op$/, "") ?? ""}`;
  return t(own in TEXTS ? (own as Key) : general, {
    name: op ? nameOf(op) : "",
    value: format.percent(finding.value * scale),
    limit: format.percent(finding.limit * scale),
  });
}

/** Shows how long the host waited for batches of PyTorch's DataLoader. */
export function LoaderCard({ loader }: { loader: LoaderJson }) {
  const mean = format.duration(loader.total_ns / loader.calls);
  const part = loader.steps_ns ? loader.total_ns / loader.steps_ns : null;
  const facts: Fact[] = [
    [t("data.loader.calls"), format.integer(loader.calls)],
    [t("data.loader.total"), format.duration(loader.total_ns)],
    [t("data.loader.mean"), mean],
    [t("data.loader.longest"), format.duration(loader.longest_ns)],
    [t("data.loader.share"), part === null ? t("core.unknown") : format.percentOfRatio(part)],
  ];
  return (
    <Card title={t("data.loader")} subtitle={t("data.source", { file: loader.source })}>
      {part !== null && <p class="lead">{t("data.loader.head", { mean, share: format.percentOfRatio(part) })}</p>}
      <Facts class="figures" facts={facts} />
    </Card>
  );
}
