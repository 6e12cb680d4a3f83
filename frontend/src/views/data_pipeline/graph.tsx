import type { PipelineOp } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { columnsOf, nameOf } from "./names";

interface Props {
  operators: readonly PipelineOp[];
  bottleneck: number | null;
}

/** The operators from source to device, each with its output queue. */
export function Graph({ operators, bottleneck }: Props) {
  return (
    <div class="data-graph">
      {columnsOf(operators).map((column) => (
        <div class="data-column" key={column.map((op) => op.op_id).join(",")}>
          {column.map((op) => (
            <Operator key={op.op_id} op={op} isWorst={op.op_id === bottleneck} isChosen={isChosen(op)} />
          ))}
        </div>
      ))}
      <div class="data-column">
        <div class="data-op">{t("data.device")}</div>
      </div>
    </div>
  );
}

function isChosen(op: PipelineOp): boolean {
  return param("data.op") === String(op.op_id);
}

function Operator({ op, isWorst, isChosen }: { op: PipelineOp; isWorst: boolean; isChosen: boolean }) {
  const facts = [
    op.workers === null ? "" : t("data.workers", { count: op.workers }),
    op.cpu === null ? "" : t("data.cpu", { value: format.percent(op.cpu) }),
  ].filter(Boolean);
  return (
    <div class="data-stage">
      <div class={`data-op ${isWorst ? "worst" : ""}`}>
        <strong>{nameOf(op)}</strong>
        {facts.map((fact) => (
          <div class="small muted" key={fact}>
            {fact}
          </div>
        ))}
      </div>
      {op.usage === null ? (
        <span class="data-link" />
      ) : (
        <button
          type="button"
          class="data-queue"
          aria-pressed={isChosen}
          aria-label={t("data.queue.of", { name: nameOf(op) })}
          data-tip={queueTip(op)}
          onClick={() => setParams({ "data.op": isChosen ? null : String(op.op_id) })}
        >
          <span class="fill" style={{ width: `${Math.min(1, op.usage) * 100}%` }} />
          <span class="mono small">{format.percent(100 * op.usage)}</span>
        </button>
      )}
    </div>
  );
}

function queueTip(op: PipelineOp): string {
  const head = t("data.queue.of", { name: nameOf(op) });
  if (op.average === null || op.capacity === null) return head;
  return `${head}\n${t("data.queue.average", { average: format.fixedDecimals(op.average, 2), capacity: op.capacity })}`;
}
