import { useContext } from "preact/hooks";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { openView } from "../../state/selection";
import { useTable } from "../../state/use_request";
import { Empty, ErrorPanel, PagedItems, type Row, TextButton, ViewSource } from "../../widgets";
import { type Cell, rowAt } from "../../widgets/table/columnar";
import { frames } from "./parts";

interface Props {
  name: string;
  /** Calls with these shapes only; null: unknown shapes; undefined: all. */
  shapes: Cell | undefined;
  hasStacks: boolean;
}

/** Number of stacks shown at first. */
const FIRST = 20;
/** Value of `input_shapes` for calls without shapes. */
const NO_SHAPES = "null";

/** The calls of one operator by distinct call stack, with the frames of each. */
export function Stacks({ name, shapes, hasStacks }: Props) {
  const { query } = useContext(ViewSource);
  const asked = { ...query, name, input_shapes: shapes === undefined ? "" : (shapes ?? NO_SHAPES).toString() };
  const { value: table, error, retry } = useTable("operator.stacks", { ...asked, limit: FIRST });

  if (error) return <ErrorPanel error={error} onRetry={retry} />;
  if (!table) return <Empty text={t("state.loading")} />;
  const rows = Array.from({ length: table.rows }, (_, index) => rowAt(table.data, index));
  return (
    <div>
      {!hasStacks && <p class="muted">{t("operator.stacks.missing")}</p>}
      {rows.map((row) => (
        <Stack key={row.index} row={row} name={name} />
      ))}
      {table.total > table.rows && (
        <p class="muted">{t("operator.stack.more", { shown: table.rows, all: table.total })}</p>
      )}
    </div>
  );
}

function Stack({ row, name }: { row: Row; name: string }) {
  const calls = Number(row.get("calls") ?? 0);
  const stack = frames(String(row.get("call_stack") ?? ""));
  const values = {
    calls: format.integer(calls),
    device: format.duration(row.get("device_self_ns") as number | null),
    host: format.duration(row.get("host_self_ns") as number | null),
  };
  return (
    <div class="stack-block mono">
      <div class="muted">
        {t(calls === 1 ? "operator.stack.line.one" : "operator.stack.line", values)} ·{" "}
        <TextButton onClick={() => openView("trace", { find: name })}>{t("operator.trace")}</TextButton>
      </div>
      <div class="frames anywhere">
        {stack.length === 0 && <span class="muted">{t("operator.stack.unknown")} ▸ </span>}
        <PagedItems items={stack}>
          {(frame, place) => (
            <span key={`${place} ${frame}`} data-tip={frame}>
              {shortFrame(frame)} <span class="muted">▸</span>{" "}
            </span>
          )}
        </PagedItems>
        <strong>{name}</strong>
      </div>
    </div>
  );
}

/** Shortens a path to its last folders: "…/torch/nn/modules/conv.py(456): forward"; the tooltip has the full path. */
function shortFrame(frame: string): string {
  const at = frame.lastIndexOf(".py(");
  if (at < 0) return frame;
  const path = frame.slice(0, at).split("/");
  return path.slice(-2).join("/") + frame.slice(at);
}
