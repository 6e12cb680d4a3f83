/** Ranks, rows, flows, search, and files. */

import type { RefObject } from "preact";
import type { ProcessJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import type { Arrangement } from "../../../timeline/arrangement";
import { processKey } from "../../../timeline/rows";
import { Popover } from "../../../widgets";
import { FileMenu } from "../export/file_menu";
import { AlignMenu } from "../ranks/align_menu";
import { RanksMenu } from "../ranks/ranks_menu";
import { SearchBox } from "../search/search_box";
import type { TraceSession } from "../session";
import { limitText } from "./display_fields";
import { FlowsMenu } from "./flows_menu";
import { MenuLabel } from "./menu_label";
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
    <div class="trace-tools">
      <RanksMenu session={session} />
      <AlignMenu session={session} />
      <Popover label={<MenuLabel text={rows ? t("trace.rows.filtered", { text: rows }) : t("trace.rows")} />}>
        {() => <RowsMenu session={session} />}
      </Popover>
      <FlowsMenu session={session} />
      <SearchBox session={session} field={field} />
      {marks > 0 && (
        <button
          type="button"
          class="control"
          onClick={() => {
            session.panel.value = "marks";
            session.panelOpen.value = true;
          }}
        >
          {t("trace.marks.count", { count: marks })}
        </button>
      )}
      <span class="grow" />
      {session.busy.value && <span class="muted small">{t("trace.loading")}</span>}
      <button type="button" class="control plain muted trace-hint" data-tip={t("trace.keys.tip")} onClick={onHelp}>
        {t("trace.keys")}
      </button>
      <FileMenu session={session} />
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
