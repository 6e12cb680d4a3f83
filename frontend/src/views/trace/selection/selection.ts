/** The selected slice: its details, its flows, and navigation to other slices. */

import { signal } from "@preact/signals";
import type { DescentJson, FlowJson, SliceDetailJson, SliceJson } from "../../../api/types.gen";
import { Latest } from "../../../base/async";
import { AnswerCache } from "../../../base/lru";
import { toggled } from "../../../base/search";
import { t } from "../../../i18n";
import { FRAME } from "../../../timeline/display";
import { isDerivedSlice, laneOfSlice } from "../../../timeline/lanes";
import { findTrack, foldKey, layOut, processKey } from "../../../timeline/rows";
import type { HoverBar, SliceMark } from "../../../timeline/scene";
import type { TimelineApi } from "../api";
import { messageOf } from "../format";
import { KEYS } from "../link/link";
import { openDerived, showRank } from "../ranks/rank_rows";
import type { TimelinePort } from "../timeline_port";
import type { SelectionMigration } from "./migrate_selection";

/** Number of cached slice details. */
const KEPT = 500;
/** Number of cached descents; each holds up to 4,000 rows. */
const KEPT_DESCENTS = 20;

/** Effect of a selection on the view: none, scroll to it, or fit it. */
export type Follow = "stay" | "sight" | "fit";

export interface Selected {
  id: number;
  /** Number of slices merged into the clicked bar. */
  merged: number;
  detail: SliceDetailJson | null;
  flows: readonly FlowJson[];
  error: string;
}

/** The selected slice, and one of another rank. */
export interface SlicePair {
  first: SliceDetailJson;
  second: SliceDetailJson;
}

export class Selection {
  readonly selected = signal<Selected | null>(null);
  /** Kinds with hidden flows. */
  readonly hiddenFlows = signal<ReadonlySet<string>>(new Set());
  /** Two slices to align. */
  readonly pair = signal<SlicePair | null>(null);
  readonly walk: Walk;
  private readonly request = new Latest();
  private descents: AnswerCache<DescentJson>;
  private details: AnswerCache<SliceDetailJson>;
  private flows: AnswerCache<FlowJson[]>;
  /** True while the slice is searched in another reading: ids on screen are void there. */
  private isRenewing = false;
  /** What the view does once the selected slice is loaded. */
  private due: Follow = "stay";

  constructor(private readonly port: TimelinePort) {
    [this.details, this.flows, this.descents] = memos(port.api);
    this.walk = new Walk(port, this, (id) => this.descents.get(id));
  }

  /** Selects slice `id`. Unfolds its row. */
  async select(id: number, follow: Follow): Promise<void> {
    this.walk.stop();
    if (!this.isRenewing) await this.take(id, follow, 1);
  }

  /** Selects the clicked bar; null: none. */
  pick(bar: HoverBar | null): void {
    if (!bar) {
      this.clear();
      return;
    }
    this.walk.stop();
    this.port.engine?.update({ selected: bar, flows: [] });
    void this.take(bar.id, "stay", bar.merged);
  }

  clear(): void {
    this.request.cancel();
    this.isRenewing = false;
    this.selected.value = null;
    this.port.engine?.update({ selected: null, flows: [] });
    this.port.save({ [KEYS.slice]: null });
  }

  stop(): void {
    this.request.cancel();
  }

  /** Details of a slice of this span, cached. */
  load(id: number): Promise<SliceDetailJson> {
    return this.details.get(id);
  }

  /** What a slice led to, cached. */
  descent(id: number): Promise<DescentJson> {
    return this.descents.get(id);
  }

  private async take(id: number, follow: Follow, merged: number): Promise<void> {
    const { port } = this;
    const before = this.selected.peek();
    this.isRenewing = false;
    this.due = follow;
    this.selected.value = { id, merged, detail: null, flows: [], error: "" };
    port.panel.value = "slice";
    port.save({ [KEYS.slice]: String(id) }, follow === "sight");
    try {
      const found = await this.request.run(() => Promise.all([this.load(id), this.flows.get(id)]));
      if (!found) return;
      const [detail, flows] = found;
      if (detail.category === FRAME && port.display.peek().packings.includes("frames")) {
        port.setPacking("frames", false);
        await this.take(id, follow, merged);
        return;
      }
      this.selected.value = { id, merged, detail, flows, error: "" };
      if (!port.layout.peek().pinned.includes(detail.track)) showRank(port, laneOfSlice(id));
      if (isDerivedSlice(id)) await openDerived(port, laneOfSlice(id));
      if (this.selected.peek()?.id !== id) return;
      this.due = "stay";
      this.show(detail, follow);
    } catch (error) {
      this.selected.value = { id, merged, detail: null, flows: [], error: messageOf(error) };
      if (before) port.engine?.update({ flows: [] });
    }
  }

  private show(detail: SliceDetailJson, follow: Follow): void {
    const { engine, announcement } = this.port;
    const mark = markOf(detail);
    this.reveal(detail.track, detail.depth);
    engine?.update({ selected: mark });
    this.updateFlows();
    if (follow === "fit") engine?.goTo({ start: detail.start, end: detail.start + detail.dur }, 1);
    if (follow !== "stay") engine?.bringIntoSight(mark, mark.track, mark.depth);
    const name = this.port.nameOf(detail);
    const { process, thread } = detail;
    const { start, duration } = { start: `${detail.start} ns`, duration: `${detail.dur} ns` };
    announcement.value = t("trace.said.slice", { name, process, thread, start, duration });
  }

  /** Unfolds, unhides and removes filters until the row is visible. */
  private reveal(track: number, depth: number): void {
    const processes = this.port.processes.peek();
    const found = findTrack(processes, track);
    if (!found || found.process.isHidden) return;
    const state = this.port.layout.peek();
    const collapsedProcesses = new Set(state.collapsedProcesses);
    const collapsedTracks = new Set(state.collapsedTracks);
    let { filter, arrangement } = state;
    let changed = collapsedProcesses.delete(foldKey(found.process));
    if (depth > 0 && collapsedTracks.delete(track)) changed = true;
    const key = processKey(found.process);
    if (arrangement.hiddenProcesses.has(key) || arrangement.hiddenTracks.has(track)) {
      const [hiddenProcesses, hiddenTracks] = [new Set(arrangement.hiddenProcesses), new Set(arrangement.hiddenTracks)];
      hiddenProcesses.delete(key);
      hiddenTracks.delete(track);
      arrangement = { ...arrangement, hiddenProcesses, hiddenTracks };
      changed = true;
    }
    const shown = layOut(processes, { ...state, collapsedProcesses, arrangement });
    if (!shown.items.some((item) => item.kind === "track" && item.thread.track === track)) {
      filter = "";
      changed = true;
    }
    if (changed) this.port.setLayout({ ...state, collapsedProcesses, collapsedTracks, filter, arrangement });
  }

  /** Chooses the slice of another rank to align with the selected one. */
  async pickSecond(bar: HoverBar): Promise<void> {
    const first = this.selected.peek()?.detail;
    if (!first || laneOfSlice(first.id) === laneOfSlice(bar.id)) {
      this.port.say(t("trace.pair.how"));
      return;
    }
    try {
      const second = await this.load(bar.id);
      this.pair.value = { first, second };
      this.port.engine?.update({ second: markOf(second) });
    } catch (error) {
      this.port.say(messageOf(error));
    }
  }

  closePair(): void {
    this.pair.value = null;
    this.port.engine?.update({ second: null });
  }

  // Flows

  toggleFlows(kind: string): void {
    this.hiddenFlows.value = toggled(this.hiddenFlows.peek(), kind);
    this.updateFlows();
  }

  private updateFlows(): void {
    const hidden = this.hiddenFlows.peek();
    const flows = (this.selected.peek()?.flows ?? []).filter((flow) => !hidden.has(flow.kind));
    const curves = flows.map(({ kind, from, to }) => ({ kind, from: markOf(from), to: markOf(to) }));
    this.port.engine?.update({ flows: curves });
  }

  /** Selects the other end of a flow of the selected slice. */
  followFlow(direction: Direction): void {
    const now = this.selected.peek();
    if (!now?.detail) return;
    const ends = now.flows
      .filter((flow) => (direction === "next" ? flow.from.id : flow.to.id) === now.id)
      .map((flow) => (direction === "next" ? flow.to : flow.from))
      .sort((a, b) => (direction === "next" ? a.start - b.start : b.start - a.start));
    const end = ends[0];
    if (end) void this.select(end.id, "sight");
    else this.port.say(t(direction === "next" ? "trace.slice.noflow.next" : "trace.slice.noflow.previous"));
  }

  /** Loads the slice again: its time on the page changed. */
  async reload(): Promise<void> {
    [this.details, this.flows, this.descents] = memos(this.port.api);
    const now = this.selected.peek();
    if (now) await this.take(now.id, this.due, now.merged);
  }

  // Another reading of the trace

  /** Finds the slice in another reading; its details stay on screen meanwhile. `api`: of the new reading. */
  async renew(api: TimelineApi, migration: SelectionMigration): Promise<void> {
    [this.details, this.flows, this.descents] = memos(api);
    this.walk.stop();
    const { engine } = this.port;
    const now = this.selected.peek();
    if (!now) return;
    const scene = engine?.scene;
    const mark = scene?.selected ? migration.slice(scene.selected) : null;
    engine?.update({ selected: mark, flows: (scene?.flows ?? []).flatMap((flow) => migration.flow(flow) ?? []) });
    if (!now.detail || !mark) {
      this.clear();
      return;
    }
    const { name, start } = now.detail;
    this.isRenewing = true;
    try {
      const found = await this.request.run(() => this.again(api, name, start + migration.shift));
      if (!found) return;
      const [detail, flows] = found;
      this.isRenewing = false;
      this.selected.value = { ...now, id: detail.id, detail, flows };
      engine?.update({ selected: markOf(detail) });
      this.updateFlows();
      this.port.save({ [KEYS.slice]: String(detail.id) });
    } catch {
      this.clear(); // the slice cannot be identified any more
    }
  }

  private async again(api: TimelineApi, name: string, start: number): Promise<[SliceDetailJson, FlowJson[]]> {
    const id = await api.find(name, start);
    if (id === null) throw new Error("the slice is gone");
    const [detail, flows] = await Promise.all([this.load(id), this.flows.get(id)]);
    if (Math.abs(detail.start - start) > 1) throw new Error("the slice is gone");
    return [detail, flows];
  }
}

type Memos = [AnswerCache<SliceDetailJson>, AnswerCache<FlowJson[]>, AnswerCache<DescentJson>];

function memos(api: TimelineApi): Memos {
  return [
    new AnswerCache(KEPT, (id) => api.slice(id)),
    new AnswerCache(KEPT, (id) => api.flows(id)),
    new AnswerCache(KEPT_DESCENTS, (id) => api.descent(id)),
  ];
}

function markOf(end: SliceJson | SliceDetailJson): SliceMark {
  const { id, name, track, depth, start, dur } = end;
  return { id, name, track, depth, start, end: start + dur };
}

type Direction = "next" | "previous";

/** Steps from task to task: the kernels of an operator in device order, else the tasks of a stream. */
export class Walk {
  /** The operator whose tasks are walked, and their ids in device order. */
  private of: { id: number; tasks: readonly number[] } | null = null;
  private readonly request = new Latest();

  constructor(
    private readonly port: Pick<TimelinePort, "say" | "fail">,
    private readonly selection: Pick<Selection, "selected" | "select" | "followFlow">,
    private readonly load: (id: number) => Promise<DescentJson>,
  ) {}

  /** Walks the tasks of slice `id` from the selected one on. */
  begin(id: number, tasks: readonly number[]): void {
    this.of = { id, tasks };
  }

  stop(): void {
    this.of = null;
    this.request.cancel();
  }

  /**
   * Selects the next or previous task. From an operator: its first task; from its first task back: the operator. From any
   * other task: its neighbour on the stream. From a slice without tasks: along a flow.
   */
  async step(direction: Direction): Promise<void> {
    const { selection } = this;
    const now = selection.selected.peek();
    if (!now?.detail || isDerivedSlice(now.id)) return;
    const place = this.of?.tasks.indexOf(now.id) ?? -1;
    if (this.of && place >= 0) {
      this.goTo(this.of.tasks[place + (direction === "next" ? 1 : -1)] ?? (direction === "next" ? null : this.of.id));
      return;
    }
    try {
      const found = await this.request.run(() => this.load(now.id));
      if (!found) return;
      const tasks = idsOf(found);
      if (direction === "next" && tasks.length > 0) {
        this.begin(now.id, tasks);
        this.goTo(tasks[0] ?? null);
      } else if (found.is_host) selection.followFlow(direction);
      else this.goTo(found[direction]);
    } catch (error) {
      this.port.fail(error);
    }
  }

  private goTo(id: number | null): void {
    const { of } = this;
    if (id === null) this.port.say(t("trace.walk.end"));
    else void this.selection.select(id, "sight");
    this.of = of; // any other selection ends the walk
  }
}

/** Ids of the loaded tasks, in device order. */
export function idsOf(descent: DescentJson): number[] {
  return (descent.tasks.data.id ?? []).map(Number);
}
