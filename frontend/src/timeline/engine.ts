/** The timeline: keeps the scene, requests data, draws frames. pointer.ts and the view handle pointer and keys. */

import { boundsOf, homeView, type TimelineData, type TimelineEvents, viewAfter } from "./data";
import { barUnder, type Under } from "./hit";
import type { HeldAction } from "./keys";
import { Loader, visibleRequest } from "./loader";
import { Motion, ViewHistory, viewAfterPress } from "./motion";
import { Painters } from "./paint/painters";
import { Pointer } from "./pointer";
import { type Change, Renewal, sceneOf } from "./renewal";
import { type Item, itemsIn, type LayoutState, layOut, sameItem } from "./rows";
import { GUTTER, newScene, type Range, rowPlaces, type Scene, sections, timeWidth } from "./scene";
import { makeSurface, measure, resizeAll, type Surface } from "./surface";
import { readTheme } from "./theme";
import { clamp, fit, reveal, sameView, show, timeAt, type View } from "./viewport";

const GUTTER_NARROW = 130;
const NARROW = 760;
const SETTLE_MS = 200;
/** How long (ms) the first frame waits for bars: a frame without them delays them by 50 ms. */
const PATIENCE_MS = 100;

export class TimelineEngine {
  readonly scene: Scene;
  readonly surface: Surface;
  private loader: Loader;
  private renewal: Renewal | null = null;
  private readonly motion = new Motion();
  private readonly history = new ViewHistory();
  private readonly painters: Painters;
  private readonly observer: ResizeObserver;
  private readonly reduced = window.matchMedia("(prefers-reduced-motion: reduce)");
  private readonly pointer: Pointer;
  private frame = 0;
  /** Ends the wait of the first frame; undefined once it is over. */
  private patience: ReturnType<typeof setTimeout> | undefined;
  private baseDirty = true;
  private settle: ReturnType<typeof setTimeout> | undefined;
  private lastPaint = 0;
  private wantedView: View | null;

  /** `start`: the initial view; null: all slices. */
  constructor(
    readonly root: HTMLElement,
    private data: TimelineData,
    layoutState: LayoutState,
    start: Range | null,
    readonly events: TimelineEvents,
  ) {
    this.surface = makeSurface(root);
    this.loader = new Loader(
      data.source,
      data.base,
      boundsOf(data),
      () => this.loaded(),
      (error) => events.failed(error),
    );
    this.patience = setTimeout(() => this.loaded(), PATIENCE_MS);
    this.wantedView = start && { start: start.start, scale: start.end - start.start };
    const trace = { ...data, limits: boundsOf(data), caches: this.loader.caches };
    this.scene = newScene(trace, layoutState, readTheme(root));
    this.painters = new Painters(this.surface);
    this.pointer = new Pointer(this);
    this.surface.scroller.addEventListener("scroll", () => {
      this.scene.scroll = this.surface.scroller.scrollTop;
      this.draw(true);
    });
    document.fonts?.addEventListener("loadingdone", this.fontsLoaded);
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.surface.scroller);
    this.surface.spacer.style.height = `${this.contentHeight()}px`;
    this.resized();
  }

  destroy(): void {
    this.observer.disconnect();
    document.fonts?.removeEventListener("loadingdone", this.fontsLoaded);
    this.pointer.stop();
    this.renewal?.stop();
    this.loader.stop();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.patience);
    clearTimeout(this.settle);
    this.root.replaceChildren();
  }

  /** Width of the time axis. */
  get width(): number {
    return timeWidth(this.scene);
  }

  /** Visible part of the time axis. */
  get shown(): Range {
    const { start, scale } = this.scene.view;
    return { start, end: start + scale * this.width };
  }

  /** Where the view may be: over the trace, and over what the view shows beside it. */
  private get bounds(): Range {
    return boundsOf(this.data);
  }

  /** Shows the times of `beside`, too. */
  setBeside(beside: Range | null): void {
    this.data.beside = beside;
    const { scene, bounds } = this;
    if (bounds.start === scene.limits.start && bounds.end === scene.limits.end) return;
    scene.limits = bounds;
    scene.view = clamp(scene.view, bounds, this.width);
    this.loader.setLimits(bounds);
    this.loader.overview(scene.minimapRows, this.width, scene.ratio);
    this.draw(true);
  }

  /** Loads all rows again: what the server sends for them, or their times, changed. */
  reloadRows(): void {
    this.loader.clearRows();
    this.loader.setLimits(this.bounds);
    this.loader.overview(this.scene.minimapRows, this.width, this.scene.ratio);
    this.draw(true);
  }

  /** Redraws with the current colours. */
  themeChanged(): void {
    this.scene.theme = readTheme(this.root);
    this.draw(true);
  }

  /** Changes parts of the scene that do not affect the layout. */
  update(
    changes: Partial<
      Pick<
        Scene,
        "selected" | "second" | "flows" | "arrows" | "marks" | "steps" | "area" | "hits" | "needle" | "colours"
      >
    >,
  ): void {
    Object.assign(this.scene, changes);
    this.draw(true);
  }

  setLayout(state: LayoutState): void {
    const { scene } = this;
    const anchor = this.anchor();
    scene.layoutState = state;
    scene.layout = layOut(this.data.processes, state);
    scene.hover = null;
    scene.hoverItem = null;
    this.keepInPlace(anchor);
    this.draw(true);
  }

  /** Shows other rows of the same reading. */
  setRows({ processes, labels }: Pick<TimelineData, "processes" | "labels">): void {
    Object.assign(this.data, { processes, labels });
    Object.assign(this.scene, { processes, labels });
    this.setLayout(this.scene.layoutState);
  }

  /** Shows another reading of the trace as soon as its visible part is loaded. */
  renew(change: Change): void {
    this.renewal?.stop();
    const { scene, events } = this;
    const hooks = { drawn: () => this.draw(true), failed: (error: unknown) => events.failed(error) };
    const renewal = new Renewal(change, scene, this.viewIn(change), hooks, () => this.swap(renewal));
    this.renewal = renewal;
  }

  private viewIn({ data, shift }: Change): View {
    return viewAfter(this.motion.target(this.scene.view), this.data, data, shift, this.width);
  }

  private swap({ change, loader }: Renewal): void {
    const { scene } = this;
    const view = this.viewIn(change);
    const anchor = this.anchor();
    this.loader.stop();
    this.loader = loader;
    this.data = change.data;
    Object.assign(scene, sceneOf(scene, change, loader, view));
    this.motion.go(view, view, performance.now(), 0);
    this.history.shift(change.shift);
    if (this.wantedView) this.wantedView.start += change.shift;
    this.renewal = null;
    this.keepInPlace(anchor);
    change.done();
    this.draw(true);
  }

  /** What stays in place when rows change: the row of the selected slice if it is in sight, else the item at the top edge. */
  private anchor(): Item | undefined {
    const { layout, scroll, selected } = this.scene;
    const section = sections(this.scene).at(-1);
    const shown = itemsIn(layout.items, scroll, scroll + (section ? section.bottom - section.top : 1));
    return shown.find((item) => item.kind === "track" && item.thread.track === selected?.track) ?? shown[0];
  }

  /** Keeps an item in place after the rows changed. */
  private keepInPlace(anchor: Item | undefined): void {
    const { scene, surface } = this;
    surface.spacer.style.height = `${this.contentHeight()}px`;
    const same = anchor && scene.layout.items.find((item) => sameItem(item, anchor));
    if (anchor && same) surface.scroller.scrollTop = same.y + (scene.scroll - anchor.y);
    scene.scroll = surface.scroller.scrollTop;
  }

  /** Shows `view` as a step that Backspace undoes. */
  go(view: View, isJump = true): void {
    const aim = clamp(view, this.bounds, this.width);
    if (sameView(aim, this.motion.target(this.scene.view))) return;
    this.history.push(this.motion.target(this.scene.view), performance.now(), isJump);
    this.move(aim, true);
  }

  /** Shows [start, end) with a margin. */
  goTo(range: Range, margin = 0.1): void {
    this.go(show(range.start, range.end, this.width, margin));
  }

  /** Centres a time, zoom unchanged. */
  center(time: number): void {
    const { scale } = this.motion.target(this.scene.view);
    this.go({ start: time - (scale * this.width) / 2, scale });
  }

  /** Moves as little as needed to show the range and its row. */
  bringIntoSight(range: Range, track: number, depth: number): void {
    const target = this.motion.target(this.scene.view);
    this.go(reveal(target, range.start, range.end, this.width));
    this.scrollTo(track, depth);
  }

  scrollTo(track: number, depth: number): void {
    const places = rowPlaces(this.scene, track, depth);
    if (places.some((place) => place.y >= place.section.top && place.y + place.height <= place.section.bottom)) return;
    const place = places[places.length - 1];
    if (!place || place.section.bottom !== this.scene.height) return;
    const middle = (place.section.top + place.section.bottom) / 2;
    this.surface.scroller.scrollTop = this.scene.scroll + place.y - middle;
    this.scene.scroll = this.surface.scroller.scrollTop; // rows may change before the event
  }

  /** Keeps the selected slice in place on the screen, if it is in sight, when its times move by `shift` ns. */
  keepSelected(shift: number): void {
    const { selected, view } = this.scene;
    const target = this.motion.target(view);
    if (!selected || selected.end <= target.start || selected.start >= target.start + target.scale * this.width) return;
    this.move(clamp({ ...target, start: target.start + shift }, this.bounds, this.width), false);
  }

  /** Shows the pinned rows, also where they scroll. */
  scrollToPinned(): void {
    if (sections(this.scene)[0]?.shift !== 0) this.surface.scroller.scrollTop = 0;
  }

  /** Shows all slices; a second call also shows counters before and after them. */
  reset(): void {
    this.go(
      this.isHome(this.motion.target(this.scene.view)) ? fit(this.bounds, this.width) : homeView(this.data, this.width),
    );
  }

  /** True for the initial view. */
  isHome(view: View): boolean {
    return sameView(view, homeView(this.data, this.width));
  }

  undo(): void {
    const view = this.history.pop();
    if (view) this.move(view, true);
  }

  /** Follows the pointer without animation, as part of one step. */
  follow(view: View): void {
    this.history.push(this.scene.view, performance.now(), false);
    this.move(clamp(view, this.bounds, this.width), false);
  }

  press(action: HeldAction, fast: boolean, repeated: boolean): void {
    const now = performance.now();
    this.motion.fast = fast;
    if (repeated && !this.reduced.matches) return;
    const target = this.motion.target(this.scene.view);
    this.go(viewAfterPress(target, action, fast, this.focusX(), this.width), false);
    if (!this.reduced.matches) this.motion.press(action, now);
    this.draw(true);
  }

  release(action: HeldAction): void {
    this.motion.release(action);
  }

  releaseAll(): void {
    this.motion.stop();
  }

  scrollBy(pages: number): void {
    this.surface.scroller.scrollTop += pages * this.scene.height * 0.8;
  }

  retry(): void {
    this.loader.retry();
    this.loader.overview(this.scene.minimapRows, this.width, this.scene.ratio);
  }

  /** Repeats the requests that are under way. */
  again(): void {
    this.loader.stop();
    this.retry();
  }

  /** The time under the pointer; the middle of the view if the pointer is elsewhere. */
  get moment(): number {
    const { start, end } = this.data.limits;
    return Math.round(Math.min(Math.max(timeAt(this.scene.view, this.focusX()), start), end));
  }

  /** The bar under a point of the canvas, and the item there. */
  barUnder(x: number, y: number): Under {
    return barUnder(this.scene, x, y);
  }

  /** Handles a wheel over what the view shows beside the rows. */
  wheel(event: WheelEvent): void {
    this.pointer.wheel(event);
  }

  /** Requests a frame. `all`: redraws the rows too, not only the overlay. */
  draw(all: boolean): void {
    this.baseDirty ||= all;
    if (all) this.root.dataset.ready = "no";
    const isReady = this.patience === undefined && this.scene.height > 0;
    if (this.frame === 0 && isReady) this.frame = requestAnimationFrame((now) => this.paint(now));
  }

  /** Data arrived, or the first frame waits no longer. */
  private loaded(): void {
    clearTimeout(this.patience);
    this.patience = undefined;
    this.draw(true);
  }

  private readonly fontsLoaded = () => {
    this.painters.forgetWidths();
    this.draw(true);
  };

  private contentHeight(): number {
    return this.scene.layout.pinnedHeight + this.scene.layout.height + 24;
  }

  /** Pixel that a zoom by key keeps in place. */
  private focusX(): number {
    const { pointer, gutter } = this.scene;
    return pointer && pointer.x > gutter ? pointer.x - gutter : this.width / 2;
  }

  private move(view: View, animated: boolean): void {
    const still = !animated || this.reduced.matches;
    this.scene.view = this.motion.go(this.scene.view, view, performance.now(), still ? 0 : undefined);
    this.draw(true);
  }

  private resized(): void {
    const { scene } = this;
    const { width, height } = measure(this.surface);
    // A hidden tab has no size: keep the last one and stop drawing until the tab is shown.
    if (width === 0 || height === 0) {
      scene.height = 0;
      return;
    }
    const before = this.width;
    const wasHome = before > 0 && this.isHome(scene.view);
    scene.ratio = window.devicePixelRatio || 1;
    scene.width = width;
    scene.height = height;
    scene.gutter = width < NARROW ? GUTTER_NARROW : GUTTER;
    resizeAll(this.surface, width, height, scene.ratio);
    if (this.wantedView) {
      scene.view = { start: this.wantedView.start, scale: this.wantedView.scale / this.width };
      this.wantedView = null;
    } else if (before === 0 || wasHome) scene.view = homeView(this.data, this.width);
    else if (before !== this.width) scene.view = { ...scene.view, scale: (scene.view.scale * before) / this.width };
    scene.view = clamp(scene.view, this.bounds, this.width);
    this.loader.overview(scene.minimapRows, this.width, scene.ratio);
    this.loader.want(visibleRequest(scene)); // before the frame without bars is drawn
    this.draw(true);
  }

  /** Reports that the view has stopped moving, when nothing was painted for a while. Sets `data-ready` and `data-range` for tests. */
  private rest(): void {
    const wait = this.lastPaint + SETTLE_MS - performance.now();
    this.settle = wait > 0 ? setTimeout(() => this.rest(), wait) : undefined;
    if (wait > 0) return;
    const { start, end } = this.shown;
    this.root.dataset.range = `${start},${end}`;
    if (!this.loader.loading && !this.motion.moving && !this.renewal) this.root.dataset.ready = "yes";
    this.events.settled();
  }

  private paint(now: number): void {
    this.frame = 0;
    const { scene } = this;
    if (scene.height === 0) return;
    if (this.motion.moving) {
      const next = this.motion.step(scene.view, now, this.focusX(), this.width);
      scene.view = clamp(next, this.bounds, this.width);
      this.baseDirty = true;
    }
    if (this.baseDirty) {
      this.baseDirty = false;
      this.root.dataset.arrows = String(this.painters.base(scene));
      this.loader.want(visibleRequest(scene));
      this.lastPaint = now;
      this.settle ??= setTimeout(() => this.rest(), SETTLE_MS);
      this.pointer.look();
      this.events.drawn();
    }
    this.painters.over(scene);
    this.events.loading(this.loader.loading);
    if (this.motion.moving) this.draw(true);
  }
}
