/** The drawer below the rows: details of a slice, statistics of a range, or what the search found. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { integer } from "../../base/format";
import { type Key, t } from "../../i18n";
import { store, stored } from "../../state/storage";
import { AreaPanel } from "./area_panel";
import { HitsPanel } from "./hits_panel";
import { MarksPanel } from "./marks_panel";
import type { PanelId, TraceSession } from "./session";
import { SlicePanel } from "./slice_panel";

const HEIGHT = 190;
const LEAST = 96;
const STEP = 24;

const TITLES: Record<PanelId, Key> = {
  slice: "trace.panel.slice",
  area: "trace.panel.area",
  hits: "trace.panel.hits",
  marks: "trace.panel.marks",
};

export function Panel({ session }: { session: TraceSession }) {
  const [height, setHeight] = useState(() => Number(stored("trace.panel")) || HEIGHT);
  const isOpen = session.panelOpen.value;
  const tabs = tabsOf(session);
  const shown = tabs.some((tab) => tab.id === session.panel.value) ? session.panel.value : "slice";
  // With nothing to show, the hint needs one line only.
  const isHint = shown === "slice" && session.selection.selected.value === null;
  const toggle = () => {
    session.panelOpen.value = !isOpen;
  };
  const resize = (next: number) => {
    const most = Math.max(LEAST, window.innerHeight - 260);
    const kept = Math.round(Math.min(Math.max(next, LEAST), most));
    setHeight(kept);
    store("trace.panel", String(kept));
  };
  return (
    <section class="trace-panel card">
      {isOpen && !isHint && <Handle height={height} onResize={resize} />}
      <div class="trace-panel-head">
        <div class="trace-tabs" role="tablist">
          {tabs.map(({ id, note }) => (
            <button
              type="button"
              role="tab"
              key={id}
              aria-selected={id === shown}
              onClick={() => {
                session.panel.value = id;
                session.panelOpen.value = true;
              }}
            >
              {t(TITLES[id])}
              {note && <span class="muted"> {note}</span>}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="control plain"
          data-tip={t(isOpen ? "trace.panel.hide" : "trace.panel.show")}
          aria-label={t(isOpen ? "trace.panel.hide" : "trace.panel.show")}
          aria-expanded={isOpen}
          onClick={toggle}
        >
          {isOpen ? "▾" : "▴"}
        </button>
      </div>
      {isOpen && (
        <div class="trace-panel-body" style={{ height: isHint ? "auto" : `${height}px` }}>
          {content(session, shown)}
        </div>
      )}
    </section>
  );
}

function tabsOf(session: TraceSession): { id: PanelId; note: string }[] {
  const tabs: { id: PanelId; note: string }[] = [{ id: "slice", note: "" }];
  const stats = session.area.stats.value;
  if (session.area.area.value) tabs.push({ id: "area", note: stats ? integer(stats.slices) : "" });
  if (session.search.text.value) tabs.push({ id: "hits", note: integer(session.search.total.value) });
  const marks = session.marks.all.value.length;
  if (marks > 0) tabs.push({ id: "marks", note: integer(marks) });
  return tabs;
}

function content(session: TraceSession, shown: PanelId): ComponentChildren {
  if (shown === "area") return <AreaPanel session={session} />;
  if (shown === "hits") return <HitsPanel session={session} />;
  if (shown === "marks") return <MarksPanel session={session} />;
  return <SlicePanel session={session} />;
}

/** The upper edge; drag it, or move it with the arrow keys. */
function Handle({ height, onResize }: { height: number; onResize: (height: number) => void }) {
  const from = useRef<{ y: number; height: number } | null>(null);
  return (
    <div
      class="trace-handle"
      role="separator"
      aria-orientation="horizontal"
      aria-valuenow={height}
      tabIndex={0}
      onPointerDown={(event) => {
        from.current = { y: event.clientY, height };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (from.current) onResize(from.current.height + from.current.y - event.clientY);
      }}
      onPointerUp={() => {
        from.current = null;
      }}
      onKeyDown={(event) => {
        if (event.key === "ArrowUp") onResize(height + STEP);
        else if (event.key === "ArrowDown") onResize(height - STEP);
        else return;
        event.preventDefault();
      }}
    />
  );
}
