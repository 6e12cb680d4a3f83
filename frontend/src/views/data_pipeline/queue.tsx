import type { Query } from "../../api/client";
import type { PipelineOp } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param } from "../../state/params";
import { useTable } from "../../state/use_table";
import { ErrorPanel } from "../../widgets";
import { nameOf } from "./names";
import { Samples } from "./samples";

interface Props {
  operators: readonly PipelineOp[];
  bottleneck: number | null;
  query: Query;
}

/** Above this number of samples they are not drawn: several would share a pixel. */
const MOST = 5000;

/** The samples of the chosen queue; initially the input queue of the bottleneck. */
export function QueueCard({ operators, bottleneck, query }: Props) {
  const chosen = operators.find((op) => String(op.op_id) === param("data.op")) ?? firstShown(operators, bottleneck);
  const op = chosen?.op_id ?? null;
  const span = String(query.span);
  const { table, error, retry } = useTable("data_pipeline.queue", op === null ? null : { span, op, limit: MOST });
  if (!chosen) return null;
  if (error) return <ErrorPanel error={error} onRetry={retry} />;
  const sizes = (table?.data.size ?? []) as (number | null)[];
  if (sizes.length === 0) return null;
  const text = t("data.queue.average", {
    average: format.fixedDecimals(chosen.average, 2),
    capacity: chosen.capacity === null ? t("core.unknown") : chosen.capacity,
  });
  return (
    <figure class="data-samples">
      <figcaption>
        <strong>{t("data.queue.of", { name: nameOf(chosen) })}</strong> <span class="muted">{text}</span>
      </figcaption>
      <Samples
        label={t("data.queue.samples")}
        at={(table?.data.time_ns ?? []) as (number | null)[]}
        sizes={sizes}
        top={chosen.capacity}
        average={chosen.average}
      />
    </figure>
  );
}

function firstShown(operators: readonly PipelineOp[], bottleneck: number | null): PipelineOp | undefined {
  const worst = operators.find((op) => op.op_id === bottleneck && op.usage !== null);
  return worst ?? operators.find((op) => op.usage !== null);
}
