/** The panel below the rows: details of a slice, statistics of a range, hits of the search, marks. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { integer } from "../../base/format";
import { type Key, type Period, t, tOf } from "../../i18n";
import { readStored, store } from "../../state/storage";
import { Button, Segments } from "../../widgets";
import { MarksPanel } from "./marks/marks_panel";
import { AreaPanel } from "./range/area_panel";
import { StepsPanel } from "./ranks/steps_panel";
import { HitsPanel } from "./search/hits_panel";
import { SlicePanel } from "./selection/slice_panel";
import type { TraceSession } from "./session";
import type { PanelId } from "./timeline_port";

const HEIGHT = 190;
const LEAST = 96;
const STEP = 24;

const TITLES: Record<PanelId, Key> = {
  slice: "trace.panel.slice",
  area: "trace.panel.area",
  hits: "trace.panel.hits",
  marks: "trace.panel.marks",
  steps: "trace.panel.steps",
};

export function Panel({ session }: { session: TraceSession }) {
  const [height, setHeight] = useState(() => Number(readStored("trace.panel")) || HEIGHT);
  const isOpen = session.panelOpen.value;
  const tabs = tabsOf(session);
  const shown = tabs.some((tab) => tab.id === session.panel.value) ? session.panel.value : "slice";
  // Without content, the hint needs one line only.
  const isHint = shown === "slice" && session.selection.selected.value === null;
  const toggle = () => {
    session.panelOpen.value = !isOpen;
  };
  const resize = (next: number) => {
    const kept = Math.round(Math.min(Math.max(next, LEAST), mostHeight()));
    setHeight(kept);
    store("trace.panel", String(kept));
  };
  return (
    <section class="trace-panel card">
      {isOpen && !isHint && <Handle height={height} onResize={resize} />}
      <div class="trace-panel-head">
        <Segments
          look="trace-tabs"
          label={t("trace.panel")}
          value={shown}
          options={tabs}
          onChange={(id) => {
            session.panel.value = id;
            session.panelOpen.value = true;
          }}
        />
        <Button
          look="control plain"
          name={t(isOpen ? "trace.panel.hide" : "trace.panel.show")}
          expanded={isOpen}
          onClick={toggle}
        >
          {isOpen ? "▾" : "▴"}
        </Button>
      </div>
      {isOpen && (
        <div
          class="trace-panel-body"
          role="tabpanel"
          aria-label={t(TITLES[shown])}
          style={{ height: isHint ? "auto" : `${height}px` }}
        >
          {content(session, shown)}
        </div>
      )}
    </section>
  );
}

interface Tab {
  id: PanelId;
  label: ComponentChildren;
}

function tabsOf(session: TraceSession): Tab[] {
  const tabs = [tab("slice", null)];
  if (session.area.area.value) tabs.push(tab("area", session.area.stats.value?.slices ?? null));
  if (session.search.text.value) tabs.push(tab("hits", session.search.total.value));
  const marks = session.marks.all.value.length;
  if (marks > 0) tabs.push(tab("marks", marks));
  if (session.ranks.steps.value.length > 0) tabs.push(tab("steps", null, session.ranks.period));
  return tabs;
}

/** `count` null: unknown or hidden. */
function tab(id: PanelId, count: number | null, period: Period = "step"): Tab {
  const note = count !== null && <span class="muted"> {integer(count)}</span>;
  return {
    id,
    label: (
      <>
        {tOf(period, TITLES[id])}
        {note}
      </>
    ),
  };
}

function content(session: TraceSession, shown: PanelId): ComponentChildren {
  if (shown === "area") return <AreaPanel session={session} />;
  if (shown === "hits") return <HitsPanel session={session} />;
  if (shown === "marks") return <MarksPanel session={session} />;
  if (shown === "steps") return <StepsPanel session={session} />;
  return <SlicePanel session={session} />;
}

/** Keeps some rows visible. */
function mostHeight(): number {
  return Math.max(LEAST, window.innerHeight - 260);
}

/** The upper edge; drag it, or move it with the arrow keys. */
function Handle({ height, onResize }: { height: number; onResize: (height: number) => void }) {
  const from = useRef<{ y: number; height: number } | null>(null);
  return (
    <div
      class="trace-handle"
      role="separator"
      aria-orientation="horizontal"
      aria-label={t("trace.panel.height")}
      aria-valuenow={height}
      aria-valuemin={LEAST}
      aria-valuemax={mostHeight()}
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
      onPointerCancel={() => {
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
