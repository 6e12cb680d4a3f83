import type { DataPipelineJson, ViewJson } from "../../api/types.gen";
import { addStyle } from "../../base/style";
import { t, viewTitle } from "../../i18n";
import { useView } from "../../state/use_view";
import { Card, MissingList, TableCard, ViewFrame } from "../../widgets";
import type { ViewModule, ViewProps } from "../view";
import css from "./data_pipeline.css?inline";
import { Graph } from "./graph";
import { BatchesCard, QueueCard } from "./queue";
import { LoaderCard, Verdict } from "./verdict";

addStyle(css);

/** Shows whether the data pipeline keeps up with the device, and which operator is the bottleneck. */
function DataPipelineView({ selection }: ViewProps) {
  const view = useView<DataPipelineJson>("data_pipeline", { span: selection.span });
  return <ViewFrame view={view}>{(data, answer) => <Parts data={data} answer={answer} />}</ViewFrame>;
}

function Parts({ data, answer }: { data: DataPipelineJson; answer: ViewJson }) {
  const { batches, dataset, preprocess } = answer.tables;
  const hasPipeline = data.operators.length > 0 || data.queues.length > 0;
  return (
    <div class="grid">
      {hasPipeline && <Verdict data={data} hasBatches={(batches?.total ?? 0) > 0} />}
      {data.operators.length > 0 && (
        <Card title={t("data.graph")} subtitle={t("data.graph.sub")} help={t("data.graph.help")}>
          <Graph operators={data.operators} bottleneck={data.bottleneck} />
          <QueueCard operators={data.operators} bottleneck={data.bottleneck} />
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

export const view: ViewModule = { Component: DataPipelineView };
