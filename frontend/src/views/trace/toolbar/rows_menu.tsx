/** Folds, pins and filters rows without the mouse on the canvas. */

import { useEffect, useRef } from "preact/hooks";
import { t } from "../../../i18n";
import { layOut, type ProcessItem, processLabel, type TrackItem, trackLabel } from "../../../timeline/rows";
import { pinOnAllRanks } from "../ranks/rank_rows";
import type { TraceSession } from "../session";

/** Largest number of listed threads; the filter finds the others. */
const MOST = 200;

export function RowsMenu({ session }: { session: TraceSession }) {
  const state = session.layout.value;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const all = layOut(session.processes.value, { ...state, collapsedProcesses: new Set(), pinned: [] });
  return (
    <div class="trace-menu">
      <input
        ref={field}
        class="field"
        type="search"
        placeholder={t("trace.rows.filter")}
        aria-label={t("trace.rows.filter")}
        value={state.filter}
        onInput={(event) => session.setLayout({ ...state, filter: event.currentTarget.value })}
      />
      <div class="row">
        <button type="button" class="link" onClick={() => session.foldAll(true)}>
          {t("trace.rows.fold")}
        </button>
        <button type="button" class="link" onClick={() => session.foldAll(false)}>
          {t("trace.rows.unfold")}
        </button>
        {state.pinned.length > 0 && (
          <button type="button" class="link" onClick={() => session.setLayout({ ...state, pinned: [] })}>
            {t("trace.rows.unpin")}
          </button>
        )}
      </div>
      {all.items.length === 0 && <p class="muted">{t("trace.rows.none")}</p>}
      {all.items
        .slice(0, MOST)
        .map((item) =>
          item.kind === "process" ? (
            <ProcessRow key={item.key} item={item} session={session} />
          ) : (
            <ThreadRow key={item.thread.track} item={item} session={session} />
          ),
        )}
    </div>
  );
}

function ProcessRow({ item, session }: { item: ProcessItem; session: TraceSession }) {
  const state = session.layout.value;
  const isFolded = state.collapsedProcesses.has(item.key);
  const fold = () => {
    const collapsedProcesses = new Set(state.collapsedProcesses);
    if (!collapsedProcesses.delete(item.key)) collapsedProcesses.add(item.key);
    session.setLayout({ ...state, collapsedProcesses });
  };
  return (
    <button type="button" class="option trace-process" aria-expanded={!isFolded} onClick={fold}>
      <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span>
      <span class="ellipsis">{processLabel(item.process)}</span>
    </button>
  );
}

function ThreadRow({ item, session }: { item: TrackItem; session: TraceSession }) {
  const state = session.layout.value;
  const { track, name } = item.thread;
  const tip = [t("trace.rows.pin", { name }), session.derived.helpOf(track)].filter(Boolean).join("\n");
  const isPinned = state.pinned.includes(track);
  const pin = () => {
    const pinned = isPinned ? state.pinned.filter((one) => one !== track) : [...state.pinned, track];
    session.setLayout({ ...state, pinned });
  };
  return (
    <label class="option trace-thread" data-tip={tip}>
      <input type="checkbox" checked={isPinned} onChange={pin} />
      <span class="ellipsis grow">{trackLabel(item.thread)}</span>
      {session.ranks.all.value.length > 1 && (
        <button
          type="button"
          class="link small"
          data-tip={t("trace.row.pin_all", { name: trackLabel(item.thread) })}
          onClick={() => void pinOnAllRanks(session, track)}
        >
          {t("trace.row.all_ranks")}
        </button>
      )}
    </label>
  );
}
