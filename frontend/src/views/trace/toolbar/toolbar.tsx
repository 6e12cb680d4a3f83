/** Ranks, rows, flows, search, and files. */

import type { RefObject } from "preact";
import type { ProcessJson } from "../../../api/types.gen";
import { type Key, t, tOr } from "../../../i18n";
import { flowToken } from "../../../timeline/colours";
import { type Arrangement, processKey } from "../../../timeline/rows";
import { Button } from "../../../widgets";
import { FileMenu } from "../export/file_menu";
import { AlignMenu } from "../ranks/align_menu";
import { OrderMenus } from "../ranks/order_menus";
import { RanksMenu } from "../ranks/ranks_menu";
import { SearchBox } from "../search/search_box";
import type { TraceSession } from "../session";
import { Menu } from "../slice_list";
import { limitText } from "./display_fields";
import { RowsMenu } from "./rows_menu";

interface Props {
  session: TraceSession;
  field: RefObject<HTMLInputElement>;
  onHelp: () => void;
}

export function Toolbar({ session, field, onHelp }: Props) {
  const marks = session.marks.all.value.length;
  const { filter, arrangement } = session.layout.value;
  const hidden = hiddenRows(session.processes.value, arrangement);
  const hasRows = session.data.processes.length > 0;
  const { least, packings } = session.display.value;
  const rows = [
    filter,
    hidden > 0 ? t("trace.rows.hidden", { count: hidden }) : "",
    least > 0 ? `≥ ${limitText(least)}` : "",
    ...packings.map((packing) => t(`trace.display.packing.${packing}.short`)),
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <div class="row trace-tools">
      <RanksMenu session={session} />
      <OrderMenus ranks={session.ranks} />
      <AlignMenu session={session} />
      {hasRows && (
        <>
          <Menu text={rows ? t("trace.rows.filtered", { text: rows }) : t("trace.rows")}>
            {() => <RowsMenu session={session} />}
          </Menu>
          <FlowsMenu session={session} />
          <SearchBox session={session} field={field} />
        </>
      )}
      {marks > 0 && (
        <Button onClick={() => session.openPanel("marks")}>{t("trace.marks.count", { count: marks })}</Button>
      )}
      <span class="grow" />
      {session.busy.value && <span class="muted small">{t("trace.loading")}</span>}
      <Button look="control plain muted trace-hint ellipsis" tip={t("trace.keys.tip")} onClick={onHelp}>
        {t("trace.keys")}
      </Button>
      {hasRows && <FileMenu session={session} />}
    </div>
  );
}

/** Number of hidden processes, and of hidden rows of the others. A link may name those of another rank. */
function hiddenRows(processes: readonly ProcessJson[], { hiddenProcesses, hiddenTracks }: Arrangement): number {
  const counts = processes.map((process) =>
    hiddenProcesses.has(processKey(process))
      ? 1
      : process.threads.filter(({ track }) => hiddenTracks.has(track)).length,
  );
  return counts.reduce((total, count) => total + count, 0);
}

/** Chooses the drawn arrows: those of the selected slice, or all of a kind. */
function FlowsMenu({ session }: { session: TraceSession }) {
  const kinds = session.data.flow_kinds;
  return (
    <Menu text={labelText(session)}>
      {() => (
        <div class="trace-menu">
          <p class="muted small">{t(kinds.length > 0 ? "trace.flows.about" : "trace.flows.none")}</p>
          {kinds.length > 0 && (
            <div class="trace-flow-kind muted small" aria-hidden="true">
              <span>{t("trace.flows.column.slice")}</span>
              <span>{t("trace.flows.column.all")}</span>
            </div>
          )}
          {kinds.map((kind) => (
            <Kind key={kind} session={session} kind={kind} />
          ))}
        </div>
      )}
    </Menu>
  );
}

function Kind({ session, kind }: { session: TraceSession; kind: string }) {
  const { selection } = session;
  return (
    <div class="trace-flow-kind">
      <input
        type="checkbox"
        aria-label={t("trace.flows.show.slice", { kind })}
        checked={!selection.hiddenFlows.value.has(kind)}
        onChange={() => selection.toggleFlows(kind)}
      />
      <input
        type="checkbox"
        aria-label={t("trace.flows.show.all", { kind })}
        checked={session.arrows.value.has(kind)}
        onChange={() => session.toggleArrows(kind)}
      />
      <span class="swatch" style={{ background: `var(${flowToken(kind)})` }} />
      <span>{kind}</span>
      <span class="muted small">{tOr(`trace.flow.${kind}` satisfies string as Key, "")}</span>
    </div>
  );
}

function labelText({ data, arrows, selection }: TraceSession): string {
  const kinds = data.flow_kinds;
  const all = kinds.filter((kind) => arrows.value.has(kind));
  if (all.length === 1) return t("trace.flows.all", { kind: all[0] ?? "" });
  if (all.length > 1) return t("trace.flows.some", { count: all.length });
  const isOff = kinds.length > 0 && kinds.every((kind) => selection.hiddenFlows.value.has(kind));
  return t(isOff ? "trace.flows.off" : "trace.flows.selection");
}
