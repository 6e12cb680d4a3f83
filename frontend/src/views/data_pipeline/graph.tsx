import type { DataPipelineJson, PipelineOp } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { param, setParams } from "../../state/params";
import { Button } from "../../widgets";

/** The operators from source to device, each with its output queue. */
export function Graph({ operators, bottleneck }: Pick<DataPipelineJson, "operators" | "bottleneck">) {
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
        <Button
          look="data-queue"
          tip={queueTip(op)}
          label={t("data.queue.of", { name: nameOf(op) })}
          pressed={isChosen}
          onClick={() => setParams({ "data.op": isChosen ? null : String(op.op_id) })}
        >
          <span class="fill" style={{ width: `${Math.min(1, op.usage) * 100}%` }} />
          <span class="mono small">{format.percent(100 * op.usage)}</span>
        </Button>
      )}
    </div>
  );
}

function queueTip(op: PipelineOp): string {
  const head = t("data.queue.of", { name: nameOf(op) });
  if (op.average === null || op.capacity === null) return head;
  return `${head}\n${t("data.queue.average", { average: format.fixedDecimals(op.average, 2), capacity: op.capacity })}`;
}

/** Name of an operator in MindSpore's notation. */
export function nameOf({ name, op_id }: PipelineOp): string {
  return `${name.replace(/Op$/, "")}(id=${op_id})`;
}

/** The operators in columns, by the longest path from a source. Those in a cycle (damaged file) come first. */
export function columnsOf(operators: readonly PipelineOp[]): PipelineOp[][] {
  const depth = new Map<number, number>();
  const byId = new Map(operators.map((op) => [op.op_id, op]));
  const depthOf = (op: PipelineOp, seen: ReadonlySet<number>): number => {
    const known = depth.get(op.op_id);
    if (known !== undefined) return known;
    const parent = op.parent_id === null ? undefined : byId.get(op.parent_id);
    const found = parent && !seen.has(parent.op_id) ? depthOf(parent, new Set([...seen, op.op_id])) + 1 : 0;
    depth.set(op.op_id, found);
    return found;
  };
  for (const op of operators) depthOf(op, new Set([op.op_id]));
  const columns: PipelineOp[][] = [];
  for (const op of operators) {
    const at = depth.get(op.op_id) ?? 0;
    columns[at] = [...(columns[at] ?? []), op];
  }
  return columns.filter((column) => column !== undefined).reverse();
}
