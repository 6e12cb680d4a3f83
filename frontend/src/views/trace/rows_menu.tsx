/** Folding, pinning and filtering rows without the mouse on the canvas. */

import { useEffect, useRef } from "preact/hooks";
import { t } from "../../i18n";
import { layOut, processKey, processLabel, trackLabel } from "../../timeline/rows";
import type { TraceSession } from "./session";

/** Threads listed at most; the filter finds the others. */
const MOST = 200;

export function RowsMenu({ session }: { session: TraceSession }) {
  const state = session.layout.value;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const all = layOut(session.data.processes, { ...state, collapsedProcesses: new Set(), pinned: [] });
  const flip = <T,>(set: ReadonlySet<T>, value: T) => {
    const next = new Set(set);
    if (!next.delete(value)) next.add(value);
    return next;
  };
  const pin = (track: number) => {
    const pinned = state.pinned.includes(track)
      ? state.pinned.filter((one) => one !== track)
      : [...state.pinned, track];
    session.setLayout({ ...state, pinned });
  };
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
      {all.items.slice(0, MOST).map((item) =>
        item.kind === "process" ? (
          <button
            type="button"
            key={item.key}
            class="option trace-process"
            aria-expanded={!state.collapsedProcesses.has(item.key)}
            onClick={() =>
              session.setLayout({
                ...state,
                collapsedProcesses: flip(state.collapsedProcesses, processKey(item.process)),
              })
            }
          >
            <span aria-hidden="true">{state.collapsedProcesses.has(item.key) ? "▸" : "▾"}</span>
            <span class="ellipsis">{processLabel(item.process)}</span>
          </button>
        ) : (
          <label
            key={item.thread.track}
            class="option trace-thread"
            data-tip={t("trace.rows.pin", { name: item.thread.name })}
          >
            <input
              type="checkbox"
              checked={state.pinned.includes(item.thread.track)}
              onChange={() => pin(item.thread.track)}
            />
            <span class="ellipsis">{trackLabel(item.thread)}</span>
          </label>
        ),
      )}
    </div>
  );
}
