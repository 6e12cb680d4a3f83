/** What stands out in the range: one line, and the kernels behind it. */

import { useState } from "preact/hooks";
import { getJson } from "../../../api/client";
import type { ExplainJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import type { Area } from "../../../timeline/scene";
import { DataTable, pageTable } from "../../../widgets";
import { say } from "../../../widgets/parts";
import { askOf } from "../ranks/placement";
import type { TraceSession } from "../session";

/** Ranks of one request: those of the run from the first on. */
const MOST = 64;

export function Explanation({ session, area }: { session: TraceSession; area: Area }) {
  const { all, shifts, data } = session.ranks;
  const ask = (signal: AbortSignal) => getJson<ExplainJson>(...questionOf(session, area), signal);
  const { value } = useRequest([area, all.value, shifts.value, data.value], ask);
  const [isOpen, setOpen] = useState(false);
  if (!value || value.kind === null) return null;
  const rank = value.rank === null ? null : value.parts[value.rank];
  return (
    <details class="trace-explain" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class={value.kernels.length > 0 ? "" : "plain"}>{value.sentences.map(say).join(" ")}</summary>
      {isOpen && rank && value.kernels.length > 0 && <Kernels name={rank.name} found={value} />}
    </details>
  );
}

/** The kernel types of the rank beside what they are compared with. */
function Kernels({ name, found }: { name: string; found: ExplainJson }) {
  const table = pageTable("trace.explain", found.kernels, [
    ["type", "text", t("trace.explain.type")],
    ["ns", "duration", name],
    ["other_ns", "duration", t(`trace.explain.${found.against}`)],
    ["difference", "duration", t("trace.versus.column.difference"), "", (row) => row.ns - row.other_ns],
  ]);
  return (
    <DataTable table={table} hasTools={false} name={t("trace.explain")} compared={[["ns", "other_ns", "difference"]]} />
  );
}

function questionOf(session: TraceSession, { start, end }: Area) {
  const own = session.ranks.all.peek().filter(({ span }) => !session.ranks.isOther(span));
  const sources = own.slice(0, MOST).map(({ span }) => ({ span, zero: session.ranks.pageZeroOf(span, session.base) }));
  return askOf("explain", sources, { t0: Math.floor(start), t1: Math.ceil(end) });
}
