/** State of one open timeline, between the engine, the server and the panels. */

import { type Signal, signal } from "@preact/signals";
import type { TraceJson } from "../../api/types.gen";
import { Latest } from "../../base/async";
import { say, t } from "../../i18n";
import { setParams } from "../../state/params";
import { TimelineEngine } from "../../timeline/engine";
import { findTrack, type LayoutState, layOut, processKey } from "../../timeline/rows";
import type { Area, HoverBar, Mark, SliceMark } from "../../timeline/scene";
import type { View } from "../../timeline/viewport";
import { type FlowEnd, type FlowJson, findSlice, getFlows, getSlice, type SliceDetail, timelineSource } from "./api";
import { AreaStats } from "./area_stats";
import { formatLayout, formatMarks, formatRange, KEYS, type LinkState } from "./link";
import { Memo } from "./memo";
import { SearchState } from "./search_state";

/** Slices whose details are kept. */
const KEPT = 500;
/** Letters of a mark's name. */
const MARK_NAME = 60;

/** What a selection does to the view: nothing, bring it into sight, or fit it. */
export type Follow = "stay" | "sight" | "fit";
export type PanelId = "slice" | "area" | "hits" | "marks";

export interface Note {
  text: string;
  retry: (() => void) | null;
}

export interface Selected {
  id: number;
  /** Slices merged into the bar that was clicked. */
  merged: number;
  detail: SliceDetail | null;
  flows: readonly FlowJson[];
  error: string;
}

export interface Hovered {
  bar: HoverBar;
  x: number;
  y: number;
}

export class TraceSession {
  readonly layout: Signal<LayoutState>;
  readonly selected = signal<Selected | null>(null);
  readonly hovered = signal<Hovered | null>(null);
  readonly marks: Signal<readonly Mark[]>;
  readonly note = signal<Note | null>(null);
  readonly busy = signal(false);
  readonly panel = signal<PanelId>("slice");
  readonly panelOpen = signal(true);
  readonly hiddenFlows = signal<ReadonlySet<string>>(new Set());
  readonly said = signal("");
  readonly area: AreaStats;
  readonly search: SearchState;
  engine: TimelineEngine | null = null;
  private readonly detailRequest = new Latest();
  private readonly details: Memo<SliceDetail>;
  private readonly flows: Memo<FlowJson[]>;

  constructor(
    readonly span: string,
    readonly data: TraceJson,
    readonly base: string,
    private readonly link: LinkState,
  ) {
    this.layout = signal(link.layout);
    this.marks = signal<readonly Mark[]>(link.marks);
    this.area = new AreaStats(span);
    this.details = new Memo(KEPT, (id) => getSlice(span, id));
    this.flows = new Memo(KEPT, (id) => getFlows(span, id));
    this.search = new SearchState(span);
  }

  attach(root: HTMLElement): void {
    this.engine = new TimelineEngine(
      root,
      {
        processes: this.data.processes,
        limits: { start: this.data.start, end: this.data.end },
        home: { start: this.data.slices_start ?? this.data.start, end: this.data.slices_end ?? this.data.end },
        base: this.base,
        source: timelineSource(this.span),
      },
      this.layout.peek(),
      this.link.range,
      {
        settled: (view) => this.remember(view),
        picked: (bar) => this.pick(bar),
        area: (area) => void this.setArea(area),
        hovered: (bar, x, y) => this.hover(bar, x, y),
        layout: (state) => this.setLayout(state),
        failed: (error) => this.fail(error),
        loading: (busy) => {
          if (this.busy.peek() !== busy) this.busy.value = busy;
        },
      },
    );
    this.engine.update({ marks: this.marks.peek() });
    if (this.link.slice !== null) void this.select(this.link.slice, this.link.range ? "stay" : "fit");
    if (this.link.search) void this.find(this.link.search, false);
  }

  detach(): void {
    this.detailRequest.cancel();
    this.area.stop();
    this.search.stop();
    this.engine?.destroy();
    this.engine = null;
  }

  // Selection

  /** Shows slice `id`. Opens what hides its row. */
  async select(id: number, follow: Follow, merged = 1): Promise<void> {
    const before = this.selected.peek();
    this.selected.value = { id, merged, detail: null, flows: [], error: "" };
    this.panel.value = "slice";
    this.save({ [KEYS.slice]: String(id) });
    try {
      const found = await this.detailRequest.run(() => Promise.all([this.load(id), this.loadFlows(id)]));
      if (!found) return;
      const [detail, flows] = found;
      this.selected.value = { id, merged, detail, flows, error: "" };
      this.show(detail, follow);
    } catch (error) {
      this.selected.value = { id, merged, detail: null, flows: [], error: messageOf(error) };
      if (before) this.engine?.update({ flows: [] });
    }
  }

  private show(detail: SliceDetail, follow: Follow): void {
    this.reveal(detail.track, detail.depth);
    this.engine?.update({ selected: markOf(detail) });
    this.updateFlows();
    if (follow === "fit") this.engine?.goTo({ start: detail.start, end: detail.start + detail.dur }, 1);
    if (follow !== "stay") this.bringIntoSight(markOf(detail));
    const { name, process, thread } = detail;
    const { start, duration } = { start: `${detail.start} ns`, duration: `${detail.dur} ns` };
    this.said.value = t("trace.said.slice", { name, process, thread, start, duration });
  }

  unselect(): void {
    this.detailRequest.cancel();
    this.selected.value = null;
    this.engine?.update({ selected: null, flows: [] });
    this.save({ [KEYS.slice]: null });
  }

  private pick(bar: HoverBar | null): void {
    if (!bar) {
      this.unselect();
      return;
    }
    this.engine?.update({ selected: bar, flows: [] });
    void this.select(bar.id, "stay", bar.merged);
  }

  private bringIntoSight(mark: SliceMark): void {
    this.engine?.bringIntoSight(mark, mark.track, mark.depth);
  }

  /** Unfolds and unfilters until the row shows. */
  private reveal(track: number, depth: number): void {
    const found = findTrack(this.data.processes, track);
    if (!found) return;
    const state = this.layout.peek();
    const key = processKey(found.process);
    const collapsedProcesses = new Set(state.collapsedProcesses);
    const collapsedTracks = new Set(state.collapsedTracks);
    let { filter } = state;
    let changed = collapsedProcesses.delete(key);
    if (depth > 0 && collapsedTracks.delete(track)) changed = true;
    const shown = layOut(this.data.processes, { ...state, collapsedProcesses });
    if (!shown.items.some((item) => item.kind === "track" && item.thread.track === track)) {
      filter = "";
      changed = true;
    }
    if (changed) this.setLayout({ ...state, collapsedProcesses, collapsedTracks, filter });
  }

  /** Details of any slice of this span; those seen before come at once. */
  load(id: number): Promise<SliceDetail> {
    return this.details.get(id);
  }

  loadFlows(id: number): Promise<FlowJson[]> {
    return this.flows.get(id);
  }

  // Flows

  toggleFlows(kind: string): void {
    const hidden = new Set(this.hiddenFlows.peek());
    if (!hidden.delete(kind)) hidden.add(kind);
    this.hiddenFlows.value = hidden;
    this.updateFlows();
  }

  private updateFlows(): void {
    const hidden = this.hiddenFlows.peek();
    const flows = (this.selected.peek()?.flows ?? []).filter((flow) => !hidden.has(flow.kind));
    const ends = flows.map(({ kind, from, to }) => ({ kind, from: markOf(from), to: markOf(to) }));
    this.engine?.update({ flows: ends });
  }

  /** Goes to the other end of a flow of the selected slice. */
  followFlow(direction: "next" | "previous"): void {
    const now = this.selected.peek();
    if (!now?.detail) return;
    const ends = now.flows
      .filter((flow) => (direction === "next" ? flow.from.id : flow.to.id) === now.id)
      .map((flow) => (direction === "next" ? flow.to : flow.from))
      .sort((a, b) => (direction === "next" ? a.start - b.start : b.start - a.start));
    const end = ends[0];
    if (end) void this.select(end.id, "sight");
    else this.say(t(direction === "next" ? "trace.slice.noflow.next" : "trace.slice.noflow.previous"));
  }

  // Range and marks

  async setArea(area: Area | null): Promise<void> {
    this.engine?.update({ area });
    if (area) this.panel.value = "area";
    else if (this.panel.peek() === "area") this.panel.value = "slice";
    await this.area.set(area);
    const stats = this.area.stats.peek();
    if (area && stats) {
      this.said.value = t("trace.said.area", { duration: `${area.end - area.start} ns`, count: stats.slices });
    }
  }

  setMarks(marks: readonly Mark[]): void {
    this.marks.value = marks;
    this.engine?.update({ marks });
    this.save({ [KEYS.marks]: formatMarks(marks) });
  }

  /** Marks the dragged range, else the selected slice. */
  mark(): void {
    const detail = this.selected.peek()?.detail;
    const area = this.area.area.peek();
    if (area) this.addMark({ start: area.start, end: area.end, name: this.newName("trace.mark.range") });
    else if (detail)
      this.addMark({ start: detail.start, end: detail.start + detail.dur, name: shortened(detail.name) });
    else this.say(t("trace.mark.none"));
  }

  /** Marks the moment under the pointer. */
  flag(): void {
    const moment = this.engine?.moment;
    if (moment === undefined) return;
    this.addMark({ start: moment, end: moment, name: this.newName("trace.mark.flag") });
  }

  private newName(key: "trace.mark.range" | "trace.mark.flag"): string {
    const taken = new Set(this.marks.peek().map((mark) => mark.name));
    let number = 1;
    while (taken.has(t(key, { number }))) number += 1;
    return t(key, { number });
  }

  private addMark(mark: Mark): void {
    this.setMarks([...this.marks.peek(), mark].sort((a, b) => a.start - b.start));
    this.said.value = t("trace.said.mark", { name: mark.name, start: `${mark.start} ns` });
  }

  renameMark(index: number, name: string): void {
    this.setMarks(
      this.marks.peek().map((mark, place) => (place === index ? { ...mark, name: shortened(name) } : mark)),
    );
  }

  removeMark(index: number): void {
    this.setMarks(this.marks.peek().filter((_, place) => place !== index));
  }

  showMark(mark: Mark): void {
    if (mark.end > mark.start) this.engine?.goTo(mark);
    else this.engine?.center(mark.start);
  }

  // Search

  /** Searches; `go`: and shows the first hit after the left edge of the view. */
  async find(text: string, go: boolean): Promise<void> {
    this.save({ [KEYS.search]: text });
    await this.search.run(text, this.engine?.scene.view.start);
    this.showHits();
    if (text === "" && this.panel.peek() === "hits") this.panel.value = "slice";
    if (this.search.error.peek()) this.fail(this.search.error.peek());
    if (text !== "" && go) await this.stepHit(1);
    if (text !== "") this.said.value = t("trace.said.hits", { total: this.search.total.value });
  }

  private showHits(): void {
    const text = this.search.text.peek();
    const hits = this.search.hits.peek();
    this.engine?.update({ needle: hits.length > 0 ? text.toLowerCase() : "", hits: hits.map((hit) => hit[1]) });
  }

  async stepHit(step: 1 | -1): Promise<void> {
    const hit = await this.search.step(step, this.engine?.scene.view.start ?? 0);
    this.showHits();
    if (hit) await this.select(hit[0], "sight");
    else if (this.search.error.peek()) this.fail(this.search.error.peek());
  }

  openHit(index: number): void {
    const hit = this.search.open(index);
    if (hit) void this.select(hit[0], "fit");
  }

  /** Shows a slice by name, for a link from another view: the one at `time` where that is known, else the first. */
  async goToName(name: string, time: number | null): Promise<void> {
    try {
      const id = await findSlice(this.span, name, time ?? 0);
      if (id !== null) await this.select(id, "fit");
      else this.say(t("trace.search.missing", { name }));
    } catch (error) {
      this.fail(error);
    }
  }

  // Rows

  setLayout(state: LayoutState): void {
    this.layout.value = state;
    this.engine?.setLayout(state);
    this.save(formatLayout(state));
  }

  foldAll(fold: boolean): void {
    const processes = fold ? this.data.processes.map(processKey) : [];
    this.setLayout({ ...this.layout.peek(), collapsedProcesses: new Set(processes), collapsedTracks: new Set() });
  }

  say(text: string): void {
    this.note.value = { text, retry: null };
    this.said.value = text;
  }

  private hover(bar: HoverBar | null, x: number, y: number): void {
    if (bar || this.hovered.peek()) this.hovered.value = bar && { bar, x, y };
  }

  private fail(error: unknown): void {
    this.note.value = {
      text: t("trace.note.failed", { message: messageOf(error) }),
      retry: () => {
        this.note.value = null;
        this.engine?.retry();
      },
    };
  }

  private remember(view: View): void {
    const { engine } = this;
    if (!engine) return;
    const range = { start: view.start, end: view.start + view.scale * engine.width };
    this.save({ [KEYS.range]: engine.isHome(view) ? null : formatRange(range) });
  }

  private save(changes: Record<string, string | null>): void {
    setParams({ ...changes, [KEYS.of]: this.span });
  }
}

export function messageOf(error: unknown): string {
  return say(error instanceof Error ? error.message : String(error));
}

/** Names go into the link, which must stay usable. */
function shortened(name: string): string {
  return name.length > MARK_NAME ? `${name.slice(0, MARK_NAME - 1)}…` : name;
}

function markOf(end: FlowEnd | SliceDetail): SliceMark {
  const { id, name, track, depth, start, dur } = end;
  return { id, name, track, depth, start, end: start + dur };
}
