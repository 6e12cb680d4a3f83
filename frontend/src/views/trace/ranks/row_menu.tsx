/** The menu of a row: pin it, on this rank or on all. */

import { useEffect, useRef } from "preact/hooks";
import { listen } from "../../../base/listen";
import { t } from "../../../i18n";
import { togglePinned, trackLabel, tracksOf } from "../../../timeline/rows";
import type { OpenMenu, TraceSession } from "../session";
import { pinOnAllRanks } from "./rank_rows";

export function RowMenu({ session }: { session: TraceSession }) {
  const open = session.rowMenu.value;
  return open ? <Menu session={session} {...open} /> : null;
}

function Menu({ session, item, x, y }: OpenMenu & { session: TraceSession }) {
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    session.rowMenu.value = null;
  };
  useEffect(() => {
    box.current?.querySelector("button")?.focus();
    const leave = (event: Event) => {
      const isInside = event.target instanceof Node && box.current?.contains(event.target);
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (isEscape) event.stopPropagation();
      if (!isInside || isEscape) close();
    };
    return listen(window, { pointerdown: leave, wheel: leave, keydown: leave }, { capture: true });
  }, [item]);
  const state = session.layout.value;
  const { track } = item.thread;
  const name = trackLabel(item.thread);
  const isPinned = tracksOf(item.thread).some((one) => state.pinned.includes(one));
  const actions: [string, () => void][] = [
    [
      t(isPinned ? "trace.row.unpin" : "trace.row.pin"),
      () => session.setLayout({ ...state, pinned: togglePinned(state.pinned, item.thread) }),
    ],
  ];
  if (session.ranks.all.value.length > 1) {
    actions.push([t("trace.row.pin_all", { name }), () => void pinOnAllRanks(session, track)]);
  }
  if (state.pinned.length > 0) actions.push([t("trace.rows.unpin"), () => session.setLayout({ ...state, pinned: [] })]);
  return (
    <div ref={box} class="trace-menu row-menu" role="menu" aria-label={name} style={{ left: `${x}px`, top: `${y}px` }}>
      {actions.map(([text, run]) => (
        <button
          key={text}
          type="button"
          class="option"
          role="menuitem"
          onClick={() => {
            close();
            run();
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
