/** State of one open timeline, between the engine, the server and the panels. */

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { TraceJson } from "../../api/types.gen";
import { Latest } from "../../base/async";
import { toggled } from "../../base/search";
import { t } from "../../i18n";
import { places } from "../../state/catalog";
import { params, setParams } from "../../state/params";
import type { TimelineData } from "../../timeline/data";
import { type Display, FRAME, PACKINGS, type Packing } from "../../timeline/display";
import { TimelineEngine } from "../../timeline/engine";
import { DERIVED, laneOffset, laneOfTrack, type SliceLabels } from "../../timeline/lanes";
import { type Arrangement, foldKey, type LayoutState, type RowProcess, type TrackItem } from "../../timeline/rows";
import type { Area, HoverBar, Range } from "../../timeline/scene";
import { TimelineApi } from "./api";
import { DerivedRows, RepackedRows } from "./derived_rows";
import { messageOf, offset } from "./format";
import {
  formatArea,
  formatDisplay,
  formatLayout,
  formatPart,
  formatRange,
  KEYS,
  type LinkState,
  type StripPart,
} from "./link/link";
import { checkLink, type Note, PendingLink } from "./link/link_notice";
import { carryWindow, inheritedWindow, keepSpan, rememberWindow } from "./link/span_state";
import { Marks } from "./marks/marks";
import { AreaStats } from "./range/area_stats";
import type { RankPlace } from "./ranks/choice";
import { Lanes } from "./ranks/lanes";
import { loadDerived } from "./ranks/rank_rows";
import { RanksState } from "./ranks/ranks_state";
import { Finder, SearchState } from "./search/search_state";
import { migrateSelection, type Reading, type SelectionMigration } from "./selection/migrate_selection";
import { Selection } from "./selection/selection";
import { StepMarks } from "./step_marks";
import type { PageReading, PanelId, TimelinePort } from "./timeline_port";

/** Jumps that follow one another faster (ms) are one entry of the history. */
const JUMP_MS = 700;
/** Loading that lasts longer than this (ms) is shown. */
const LOADING_MS = 200;

/** A bar under the pointer, or the name of a row with a help. */
export interface Hovered {
  bar: HoverBar | null;
  help: string;
  x: number;
  y: number;
}

/** The row whose menu is open, at client coordinates. */
export interface OpenMenu {
  item: TrackItem;
  x: number;
  y: number;
}

/** Time (ms) that a newer reading takes at most; then the server has none, and requests for this one are repeated. */
const AGAIN_MS = 2000;

export class TraceSession implements TimelinePort {
  /** The trace, or its beginning while it is read. */
  readonly reading: Signal<Reading>;
  readonly layout: Signal<LayoutState>;
  readonly display: Signal<Display>;
  readonly hovered = signal<Hovered | null>(null);
  /** The selected part of a strip. */
  readonly part: Signal<StripPart | null>;
  readonly rowMenu = signal<OpenMenu | null>(null);
  readonly note = signal<Note | null>(null);
  readonly busy = signal(false);
  readonly panel = signal<PanelId>("slice");
  readonly panelOpen = signal(true);
  /** Kinds of flows with all arrows shown. */
  readonly arrows: Signal<ReadonlySet<string>>;
  readonly announcement = signal("");
  readonly selection: Selection;
  readonly marks: Marks;
  readonly area: AreaStats;
  readonly search: SearchState;
  readonly finder: Finder;
  readonly steps: StepMarks;
  readonly derived = new DerivedRows();
  readonly ranks: RanksState;
  /** Rows of other ranks. */
  readonly lanes: Lanes;
  /** Other rows than those of the trace. */
  readonly repacked: RepackedRows;
  /** Processes of all ranks on the page, as recorded, and as their rows show them. */
  readonly recorded: ReadonlySignal<RowProcess[]>;
  readonly processes: ReadonlySignal<RowProcess[]>;
  /** Counts the frames of the rows, for what follows their view. */
  readonly drawn = signal(0);
  engine: TimelineEngine | null = null;
  api: TimelineApi;
  private stopFollowing = () => {};
  private lastJump = Number.NEGATIVE_INFINITY;
  private loadingTimer: ReturnType<typeof setTimeout> | undefined;
  private staleTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly lookup = new Latest();
  private readonly pending = new PendingLink();
  private link: LinkState;
  /** The window taken over from the previous span; null once the user has moved it. */
  private inherited: Range | null = null;
  private inheritedText = "";

  /** `onStale`: the server has a newer reading, which the caller passes to `renew`. */
  constructor(
    readonly span: string,
    data: TraceJson,
    base: string,
    link: LinkState,
    private readonly onStale: () => void,
  ) {
    this.reading = signal({ data: this.derived.addTo(data, span), base });
    this.ranks = new RanksState(span);
    this.lanes = new Lanes(this.ranks, () => this.base, this.derived);
    const kept = this.pending.keep(link, data.partial !== null);
    const checked = checkLink(kept, data);
    this.link = checked.link;
    this.note.value = checked.note;
    if (!kept.range && !this.pending.link) {
      this.inherited = inheritedWindow({ span, base, steps: data.steps }, homeRange(data));
      this.link = { ...this.link, range: this.inherited };
    }
    this.part = signal(this.link.part);
    if (this.link.part && this.link.slice === null) this.panel.value = "rank";
    this.layout = signal(this.link.layout);
    this.display = signal(this.link.display);
    this.repacked = new RepackedRows(computed(() => this.display.value.packings));
    this.recorded = computed(() => this.lanes.processes(this.data.processes));
    this.processes = computed(() => this.shownProcesses());
    this.arrows = signal(this.link.arrows);
    this.api = this.apiOf(this.reading.peek());
    this.area = new AreaStats(() => this.api);
    this.search = new SearchState(() => this.api);
    this.steps = new StepMarks(this);
    this.selection = new Selection(this);
    this.finder = new Finder(this, this.search, this.selection);
    this.marks = new Marks(this, this.selection, this.area, this.link.marks);
  }

  get data(): TraceJson {
    return this.reading.value.data;
  }

  /** Epoch time (ns) of time 0. */
  get base(): string {
    return this.reading.value.base;
  }

  /** Formats a time: "+52 148.220 µs" from the zero of all views of the span. */
  shownTime(ns: number): string {
    return offset(ns - this.data.zero);
  }

  /** `follow`: begins what follows the ranks; returns what stops it. */
  attach(root: HTMLElement, follow: () => () => void): void {
    const data = timelineData(this.reading.peek(), this.derived.labels.peek(), this.api);
    const hasStrips = this.ranks.shown.peek().length > 0; // the link may show a time that only another rank has
    this.engine = new TimelineEngine(
      root,
      { ...data, beside: hasStrips && this.link.range ? wholeNs(this.link.range) : null },
      this.layout.peek(),
      this.link.range,
      {
        settled: () => this.remember(),
        drawn: () => {
          this.drawn.value += 1;
        },
        picked: (bar) => {
          this.dismissNote();
          this.selection.closePair();
          this.selection.pick(bar);
        },
        area: (area) => void this.setArea(area),
        hovered: (bar, x, y) => this.hover(bar, x, y),
        pickedSecond: (bar) => void this.selection.pickSecond(bar),
        menu: (item, x, y) => (this.rowMenu.value = { item, x, y }),
        layout: (state) => this.setLayout(state),
        failed: (error) => this.fail(error),
        loading: (isLoading) => this.showLoading(isLoading),
      },
    );
    const { colours } = this.display.peek();
    this.engine.update({ marks: this.marks.all.peek(), arrows: this.arrowKinds(this.data), colours });
    this.stopFollowing = follow();
    this.open(this.link);
    void loadDerived(this);
    void this.steps.load();
    if (this.link.search) void this.finder.find(this.link.search, false);
  }

  detach(): void {
    clearTimeout(this.staleTimer);
    this.showLoading(false);
    this.lookup.cancel();
    this.selection.stop();
    this.area.stop();
    this.search.stop();
    this.lanes.stop();
    this.stopFollowing();
    this.engine?.destroy();
    this.engine = null;
  }

  // Another reading of the same trace

  /** Shows another reading: more of the trace, or all of it. Keeps the user's view and selection. */
  renew(data: TraceJson, base: string): void {
    clearTimeout(this.staleTimer);
    const after = { data: this.derived.addTo(data, this.span), base };
    const migration = migrateSelection(this.reading.peek(), after);
    const api = this.apiOf(after);
    this.engine?.renew({
      data: timelineData(after, this.derived.labels.peek(), api),
      layoutState: () => migration.layout(this.layout.peek()),
      arrows: () => this.arrowKinds(data),
      shift: migration.shift,
      done: () => this.change(after, api, migration),
    });
  }

  private change(after: Reading, api: TimelineApi, migration: SelectionMigration): void {
    this.reading.value = after;
    this.api = api;
    this.hovered.value = null;
    this.layout.value = migration.layout(this.layout.peek());
    if (migration.shift !== 0) this.marks.set(this.marks.all.peek().map((mark) => migration.range(mark)));
    const area = this.area.area.peek();
    const moved = area && migration.area(area);
    this.engine?.update({ area: moved });
    if (area) void this.area.set(moved, moved !== null);
    if (area && !this.pending.link) this.save({ [KEYS.area]: moved && formatArea(moved) });
    void this.selection.renew(api, migration);
    void this.finder.renew(migration.shift);
    if (!this.pending.link) this.save(formatLayout(this.layout.peek()));
    void loadDerived(this);
    void this.steps.load();
    this.catchUp();
  }

  // Derived rows

  /** Shows what is loaded of the derived rows, in the current language. */
  showDerived(): void {
    this.derived.translate();
    const { data, base } = this.reading.peek();
    this.reading.value = { data: this.derived.addTo(data, this.span), base };
  }

  /** Name of a slice as shown. */
  nameOf({ name }: { name: string }): string {
    return this.derived.labels.value.get(name)?.text ?? name;
  }

  private apiOf({ data, base }: Reading): TimelineApi {
    return new TimelineApi(
      this.span,
      data.version,
      () => this.awaitNewer(),
      base,
      this.lanes,
      () => this.display.peek().least,
      (span, version) => this.repacked.shownOf(span, version),
    );
  }

  /** Asks for the newer reading that the server has; requests for this one stay open until it comes. */
  private awaitNewer(): void {
    this.onStale();
    clearTimeout(this.staleTimer);
    this.staleTimer = setTimeout(() => {
      this.engine?.again();
      if (this.search.busy.peek()) void this.finder.find(this.search.text.peek(), false);
      if (this.selection.selected.peek()?.detail === null) void this.selection.reload();
    }, AGAIN_MS);
  }

  /** The readings on the page, with the number of their track 0. */
  readings(): PageReading[] {
    const { version, partial } = this.data;
    const others = [...this.lanes.loaded.value.values()].map(({ number, place, data }) => {
      return { span: place.span, version: data.version, partial: data.partial, first: laneOffset(number, 0).track };
    });
    return [{ span: this.span, version, partial, first: 0 }, ...others];
  }

  /** A reading on the page by the number of its rank; undefined until it is loaded. */
  readingOf(lane: number) {
    return this.readings().find(({ first }) => laneOfTrack(first) === lane);
  }

  /** What a derived row shows; "" for rows of the trace. */
  helpOf(track: number): string {
    const reading = this.readingOf(laneOfTrack(track));
    return reading ? this.derived.helpOf(reading, track - reading.first) : "";
  }

  private shownProcesses(): RowProcess[] {
    return this.readings().reduce(
      (processes, { span, version, first }) => this.repacked.apply(processes, span, version, first),
      this.recorded.value,
    );
  }

  /** Opens the link or slice that waited until more of the trace was read. */
  private catchUp(): void {
    const { link, slice } = this.pending;
    if (slice) void this.goToName(slice.name, Number(slice.start - BigInt(this.base)));
    else if (link && this.data.partial === null) {
      this.pending.clear();
      this.link = link;
      const { range, layout } = link;
      const { collapsedTracks, pinned, arrangement } = layout;
      this.setLayout({ ...this.layout.peek(), collapsedTracks, pinned, arrangement });
      if (range) this.engine?.goTo(range, 0);
      this.open(link);
    }
  }

  /** Selects the slice and the range of a link. */
  private open({ slice, range, area }: LinkState): void {
    if (slice !== null) void this.selection.select(slice, range ? "stay" : "fit");
    if (area) void this.setArea(area);
  }

  /** Whether the view is still that of the link. */
  get isAsLinked(): boolean {
    const { range } = this.link;
    return range !== null && this.engine !== null && formatRange(this.engine.shown) === formatRange(range);
  }

  // Arrows

  /** Shows or hides all arrows of a kind of flow. */
  toggleArrows(kind: string): void {
    const shown = toggled(this.arrows.peek(), kind);
    this.arrows.value = shown;
    this.engine?.update({ arrows: this.arrowKinds(this.data) });
    this.save({ [KEYS.arrows]: [...shown].join(",") });
  }

  private arrowKinds(data: TraceJson): number[] {
    return data.flow_kinds.flatMap((kind, index) => (this.arrows.peek().has(kind) ? [index] : []));
  }

  // Range

  async setArea(area: Area | null): Promise<void> {
    this.engine?.update({ area });
    this.save({ [KEYS.area]: area && formatArea(area) });
    this.area.listRanks(area?.lanes !== undefined);
    if (area) this.panel.value = "area";
    else if (this.panel.peek() === "area") this.panel.value = "slice";
    await this.area.set(area);
    const stats = this.area.stats.peek();
    if (area && stats && this.area.area.peek() === area) {
      this.announcement.value = t("trace.said.area", { duration: `${area.end - area.start} ns`, count: stats.slices });
    }
  }

  /** Selects the range of all rows that the header chooses, and moves there unless it is selected. */
  showPeriod(range: Range, margin: number): void {
    const area = this.area.area.peek();
    if (area && Math.floor(area.start) === range.start && Math.ceil(area.end) === range.end) return;
    this.engine?.goTo(range, margin);
    void this.setArea({ ...range, tracks: null });
  }

  /** Selects a part of a strip; null: none. */
  pickPart(part: StripPart | null): void {
    this.part.value = part;
    this.save({ [KEYS.part]: part && formatPart(part) });
    if (part) this.openPanel("rank");
  }

  // Names

  /** Shows a slice by name, for a link from another view: the one at `time` if known, else the first. */
  async goToName(name: string, time: number | null): Promise<void> {
    const start = time === null ? null : BigInt(this.base) + BigInt(time);
    this.pending.clear();
    try {
      const found = await this.lookup.run((signal) => this.lookUp(name, time, signal));
      if (!found) return;
      if (found.id !== null) await this.selection.select(found.id, "fit");
      else if (start !== null && this.data.partial !== null) {
        this.pending.waitFor({ name, start });
        this.say(t("trace.search.later", { name }), false);
      } else this.say(t("trace.search.missing", { name }));
    } catch (error) {
      this.fail(error);
    }
  }

  /** The slice of the link; id null: not found, or not read yet. */
  private async lookUp(name: string, time: number | null, signal: AbortSignal): Promise<{ id: number | null }> {
    if (name.startsWith(DERIVED) && this.data.partial !== null) return { id: null };
    const id = await this.api.find(name, time ?? 0, signal);
    // In a complete trace, the nearest slice of the name is the right one.
    if (id === null || time === null || this.data.partial === null) return { id };
    return { id: Math.abs((await this.selection.load(id)).start - time) <= 1 ? id : null };
  }

  // Ranks

  /** Opens another rank of the run at the time that its strip shows. */
  openRank({ span, worker }: RankPlace): void {
    const run = places.peek().get(span)?.run.id;
    if (!this.engine || !run || span === this.span) return;
    this.remember();
    if (this.ranks.isOther(span)) {
      setParams({ run, worker, span, [KEYS.versus]: this.ranks.run }, true);
      return;
    }
    carryWindow(span, -this.ranks.shiftOf(span));
    setParams({ run, worker, span }, true);
  }

  // Rows

  setDisplay(changes: Partial<Display>): void {
    const before = this.display.peek();
    const next = { ...before, ...changes };
    this.display.value = next;
    this.engine?.update({ colours: next.colours });
    if (next.least !== before.least) this.engine?.reloadRows();
    this.save(formatDisplay(next));
  }

  /** Shows other rows, or those of the trace again. */
  setPacking(packing: Packing, isOn: boolean): void {
    const { packings } = this.display.peek();
    const isHidden = packing === "frames" && isOn && this.selection.selected.peek()?.detail?.category === FRAME;
    if (isHidden) this.selection.clear(); // selecting a frame shows the frames
    this.setDisplay({ packings: PACKINGS.filter((one) => (one === packing ? isOn : packings.includes(one))) });
  }

  setLayout(state: LayoutState): void {
    this.layout.value = state;
    this.engine?.setLayout(state);
    this.save(formatLayout(state));
    void loadDerived(this);
  }

  /** Hides, shows and moves rows. */
  arrange(changes: Partial<Arrangement>): void {
    const layout = this.layout.peek();
    this.setLayout({ ...layout, arrangement: { ...layout.arrangement, ...changes } });
  }

  foldAll(fold: boolean): void {
    const processes = fold ? this.processes.peek().map(foldKey) : [];
    this.setLayout({ ...this.layout.peek(), collapsedProcesses: new Set(processes), collapsedTracks: new Set() });
  }

  // Notes, announcements and link state

  openPanel(id: PanelId): void {
    this.panel.value = id;
    this.panelOpen.value = true;
  }

  say(text: string, isPassing = true): void {
    this.note.value = { text, isPassing, action: null };
    this.announcement.value = text;
  }

  /** Removes the note about the previous action. */
  dismissNote(): void {
    if (this.note.peek()?.isPassing) this.note.value = null;
  }

  fail(error: unknown): void {
    const run = () => {
      this.note.value = null;
      this.engine?.retry();
    };
    const text = t("trace.note.failed", { message: messageOf(error) });
    this.note.value = { text, isPassing: false, action: { label: t("state.retry"), run, isError: true } };
  }

  save(changes: Record<string, string | null>, isJump = false): void {
    const isEntry = isJump && performance.now() - this.lastJump >= JUMP_MS;
    if (isEntry) this.remember(); // Back returns to what is shown now
    if (isJump) this.lastJump = performance.now();
    const { data } = this.reading.peek();
    const given = this.pending.giveUp(changes);
    const version = data.partial === null || this.pending.link ? null : data.version;
    setParams({ ...given, ...changes, [KEYS.of]: this.span, [KEYS.version]: version }, isEntry);
    keepSpan(this.span, params.peek(), this.inherited === null);
  }

  private showLoading(isLoading: boolean): void {
    if (isLoading) {
      this.loadingTimer ??= setTimeout(() => (this.busy.value = true), LOADING_MS);
      return;
    }
    clearTimeout(this.loadingTimer);
    this.loadingTimer = undefined;
    this.busy.value = false;
  }

  private hover(bar: HoverBar | null, x: number, y: number): void {
    const help = bar ? "" : this.helpUnderPointer();
    if (bar || help || this.hovered.peek()) this.hovered.value = bar || help ? { bar, help, x, y } : null;
  }

  /** Help of the row whose name is under the pointer. */
  private helpUnderPointer(): string {
    const { hoverItem, pointer, gutter } = this.engine?.scene ?? {};
    const isOnName = hoverItem && pointer && gutter && pointer.x < gutter;
    return isOnName ? this.helpOf(hoverItem.thread.track) : "";
  }

  private remember(): void {
    const { engine } = this;
    const isHome = engine?.isHome(engine.scene.view);
    if (!engine || (this.pending.link && isHome)) return;
    const range = engine.shown;
    const text = isHome ? "" : formatRange(range);
    this.inheritedText ||= text;
    if (text !== this.inheritedText) this.inherited = null;
    rememberWindow({ span: this.span, range: isHome ? null : range, base: this.base, steps: this.data.steps });
    this.save({ [KEYS.range]: text });
  }
}

/** From the start of the first slice to the end of the last. */
function homeRange(data: TraceJson): Range {
  return { start: data.slices_start ?? data.start, end: data.slices_end ?? data.end };
}

/** The least range of whole ns that holds another one. */
function wholeNs({ start, end }: Range): Range {
  return { start: Math.floor(start), end: Math.ceil(end) };
}

/** Converts a reading of a trace to the data of the engine. */
function timelineData({ data, base }: Reading, labels: SliceLabels, api: TimelineApi): TimelineData {
  return {
    processes: data.processes,
    labels,
    flowKinds: data.flow_kinds,
    limits: { start: data.start, end: data.end },
    beside: null,
    zero: data.zero,
    home: homeRange(data),
    base,
    source: api.source,
  };
}
