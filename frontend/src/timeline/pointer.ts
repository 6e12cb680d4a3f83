/** Mouse, pen and wheel. */

import { toggled } from "../base/search";
import type { TimelineEvents } from "./data";
import { tracksBetween, type Under } from "./hit";
import { PIN_WIDTH } from "./paint/gutter";
import { MINIMAP_HEIGHT, minimapView } from "./paint/top";
import { type Item, type TrackItem, togglePinned } from "./rows";
import type { Area, Range, Scene } from "./scene";
import type { Surface } from "./surface";
import { pan, timeAt, type View, xAt, zoom } from "./viewport";

/** Largest movement (px) of a click. */
const CLICK_SLACK = 3;
const EDGE_SLACK = 4;
const WHEEL_ZOOM = 1.0015;
const LINE_PIXELS = 16;

type Kind = "pending" | "area" | "pan" | "zoom" | "minimap" | "edge";

interface Drag {
  kind: Kind;
  x: number;
  y: number;
  view: View;
  /** The fixed end of the area. */
  fixed: number;
  /** The area before the drag. */
  area: Area | null;
  onRuler: boolean;
}

function wheelPixels(event: WheelEvent, delta: number): number {
  return event.deltaMode === WheelEvent.DOM_DELTA_LINE ? delta * LINE_PIXELS : delta;
}

/** The engine's interface for the pointer. */
interface PointerEngine {
  readonly root: HTMLElement;
  readonly surface: Surface;
  readonly scene: Scene;
  readonly events: TimelineEvents;
  readonly width: number;
  barUnder(x: number, y: number): Under;
  draw(isAll: boolean): void;
  follow(view: View): void;
  goTo(range: Range, margin?: number): void;
  releaseAll(): void;
  reset(): void;
}

/** Handles all pointer input on the timeline. */
export class Pointer {
  private readonly surface: Surface;
  private readonly scene: Scene;
  private readonly events: TimelineEvents;
  private drag: Drag | null = null;
  private readonly end = new AbortController();

  constructor(private readonly engine: PointerEngine) {
    this.surface = engine.surface;
    this.scene = engine.scene;
    this.events = engine.events;
    const { stage, top } = engine.surface;
    this.on(stage, "pointerdown", this.down);
    this.on(top, "pointerdown", this.downTop);
    for (const element of [stage, top]) {
      this.on(element, "pointermove", (event) => (element === top && !this.drag ? undefined : this.move(event)));
      this.on(element, "pointerup", this.up);
      this.on(element, "pointercancel", this.cancel);
      this.on(element, "pointerleave", this.leave);
      this.on(element, "wheel", this.wheel);
    }
    this.on(stage, "contextmenu", this.openMenu);
    this.on(stage, "dblclick", this.doubleClick);
    this.on(top, "dblclick", () => engine.reset());
  }

  stop(): void {
    this.end.abort();
  }

  private on<K extends keyof HTMLElementEventMap>(
    element: HTMLElement,
    type: K,
    handler: (event: HTMLElementEventMap[K]) => void,
  ): void {
    element.addEventListener(type, handler.bind(this), { passive: false, signal: this.end.signal });
  }

  private timeOf(x: number): number {
    const time = timeAt(this.scene.view, Math.min(Math.max(x - this.scene.gutter, 0), this.engine.width));
    return Math.min(Math.max(time, this.scene.limits.start), this.scene.limits.end);
  }

  private hover(event: PointerEvent): void {
    const { x, y } = positionIn(event, this.surface.stage);
    this.scene.pointer = { x, y };
    this.tell(x, y, this.engine.barUnder(x, y));
  }

  /** Updates the hover after the drawing changed under a resting pointer. */
  look(): void {
    if (this.drag || !this.scene.pointer) return;
    const { x, y } = this.scene.pointer;
    const under = this.engine.barUnder(x, y);
    const isSame = under.bar?.id === this.scene.hover?.id && under.bar?.merged === this.scene.hover?.merged;
    if (!isSame || itemOf(under) !== this.scene.hoverItem) this.tell(x, y, under);
  }

  private tell(x: number, y: number, under: Under): void {
    const { place, bar } = under;
    const item = itemOf(under);
    const changedItem = item !== this.scene.hoverItem;
    this.scene.hover = bar;
    this.scene.hoverItem = item;
    this.surface.stage.style.cursor = this.cursorAt(x, place?.item ?? null, bar !== null);
    this.engine.draw(changedItem);
    const box = this.surface.stage.getBoundingClientRect();
    this.events.hovered(bar, box.left + x, box.top + y);
  }

  private cursorAt(x: number, item: Item | null, onBar: boolean): string {
    if (x < this.scene.gutter) return item ? "pointer" : "default";
    if (this.edgeAt(x) !== null) return "ew-resize";
    return onBar ? "pointer" : "crosshair";
  }

  /** The other end of the area whose edge is at `x`. */
  private edgeAt(x: number): number | null {
    if (!this.scene.area) return null;
    const left = this.scene.gutter + xAt(this.scene.view, this.scene.area.start);
    const right = this.scene.gutter + xAt(this.scene.view, this.scene.area.end);
    if (Math.abs(x - left) <= EDGE_SLACK) return this.scene.area.end;
    return Math.abs(x - right) <= EDGE_SLACK ? this.scene.area.start : null;
  }

  private kindOf(event: PointerEvent): Kind {
    if (event.button === 1 || event.shiftKey || event.ctrlKey || event.metaKey) return "pan";
    return event.altKey ? "zoom" : "pending";
  }

  private down(event: PointerEvent): void {
    if (event.button > 1) return;
    const { x, y } = positionIn(event, this.surface.stage);
    if (x < 0 || x >= this.scene.width) return;
    this.engine.root.focus({ preventScroll: true });
    if (event.button === 1) event.preventDefault();
    const { place } = this.engine.barUnder(x, y);
    if (x < this.scene.gutter) {
      if (event.button === 0 && place) this.clickItem(place.item, x);
      return;
    }
    const fixed = this.edgeAt(x);
    const kind = this.kindOf(event);
    const isEdge = kind === "pending" && fixed !== null;
    this.drag = {
      kind: isEdge ? "edge" : kind,
      x,
      y,
      view: this.scene.view,
      fixed: fixed ?? this.timeOf(x),
      area: this.scene.area,
      onRuler: false,
    };
    this.engine.releaseAll();
    this.surface.stage.setPointerCapture(event.pointerId);
  }

  private clickItem(item: Item, x: number): void {
    const { layoutState } = this.scene;
    if (item.kind === "process") {
      this.events.layout({ ...layoutState, collapsedProcesses: toggled(layoutState.collapsedProcesses, item.fold) });
    } else if (x > this.scene.gutter - PIN_WIDTH - 4) {
      this.events.layout({ ...layoutState, pinned: togglePinned(layoutState.pinned, item.thread) });
    } else {
      this.events.layout({ ...layoutState, collapsedTracks: toggled(layoutState.collapsedTracks, item.thread.track) });
    }
  }

  private move(event: PointerEvent): void {
    if (!this.drag) {
      this.hover(event);
      return;
    }
    const { x, y } = positionIn(event, this.drag.onRuler ? this.surface.top : this.surface.stage);
    this.scene.pointer = { x, y };
    if (this.drag.kind === "pending" && this.isDragged(this.drag, event)) {
      this.drag.kind = "area";
      this.scene.hover = null;
      this.events.hovered(null, 0, 0);
    }
    if (this.drag.kind === "pan") this.engine.follow(pan(this.drag.view, this.drag.x - x));
    else if (this.drag.kind === "minimap") this.dragMinimap(x);
    else if (this.drag.kind !== "pending") {
      this.scene.area = this.areaTo(this.drag, x, y);
      this.engine.draw(false);
    }
  }

  private isDragged(from: Drag, event: PointerEvent): boolean {
    const { x, y } = positionIn(event, from.onRuler ? this.surface.top : this.surface.stage);
    return Math.hypot(x - from.x, y - from.y) > CLICK_SLACK;
  }

  private areaTo(from: Drag, x: number, y: number): Area {
    const [one, other] = [from.fixed, this.timeOf(x)];
    const range = { start: Math.min(one, other), end: Math.max(one, other) };
    if (from.kind === "edge") return { ...range, tracks: this.scene.area?.tracks ?? null };
    if (from.onRuler || from.kind === "zoom") return { ...range, tracks: null };
    const tracks = tracksBetween(this.scene, from.y, y);
    return { ...range, tracks: tracks.length > 0 ? tracks : null };
  }

  private up(event: PointerEvent): void {
    if (!this.drag) return;
    const done = this.drag;
    this.drag = null;
    const { area } = this.scene;
    if (done.kind === "pending") {
      const { bar } = this.engine.barUnder(done.x, done.y);
      if (!done.onRuler) this.events.picked(bar);
      else this.events.area(null);
    } else if (done.kind === "pan" && event.shiftKey && !done.onRuler && !this.isDragged(done, event)) {
      const { bar } = this.engine.barUnder(done.x, done.y);
      if (bar) this.events.pickedSecond(bar);
    } else if (done.kind === "zoom" && area) {
      this.scene.area = done.area;
      if (area.end > area.start) this.engine.goTo(area, 0);
    } else if ((done.kind === "area" || done.kind === "edge") && area) {
      this.events.area(area.end > area.start ? { ...area, ...roundArea(area) } : null);
    }
    if (!done.onRuler) this.hover(event);
  }

  /** Opens the menu of the row whose name is under the pointer. */
  private openMenu(event: MouseEvent): void {
    const { x, y } = positionIn(event, this.surface.stage);
    const item = itemOf(this.engine.barUnder(x, y));
    if (!item || x >= this.scene.gutter) return;
    event.preventDefault();
    this.events.menu(item, event.clientX, event.clientY);
  }

  private doubleClick(event: MouseEvent): void {
    const { x, y } = positionIn(event, this.surface.stage);
    const { bar } = this.engine.barUnder(x, y);
    if (bar) this.engine.goTo(bar);
  }

  private dragMinimap(x: number): void {
    const middle = timeAt(minimapView(this.scene), x - this.scene.gutter);
    this.engine.follow({
      start: middle - (this.scene.view.scale * this.engine.width) / 2,
      scale: this.scene.view.scale,
    });
  }

  private downTop(event: PointerEvent): void {
    const { x, y } = positionIn(event, this.surface.top);
    if (event.button !== 0 || x < this.scene.gutter) return;
    this.engine.root.focus({ preventScroll: true });
    this.engine.releaseAll();
    this.surface.top.setPointerCapture(event.pointerId);
    const kind: Kind = y < MINIMAP_HEIGHT ? "minimap" : this.kindOf(event);
    this.drag = { kind, x, y, view: this.scene.view, fixed: this.timeOf(x), area: this.scene.area, onRuler: true };
    if (kind === "minimap") this.dragMinimap(x);
  }

  /** Zooms with Ctrl, moves with Shift. */
  wheel(event: WheelEvent): void {
    const x = positionIn(event, this.surface.stage).x - this.scene.gutter;
    const [across, along] = [wheelPixels(event, event.deltaX), wheelPixels(event, event.deltaY)];
    if (event.ctrlKey || event.metaKey) {
      this.engine.follow(zoom(this.scene.view, WHEEL_ZOOM ** along, Math.max(x, 0)));
    } else if (event.shiftKey || Math.abs(across) > Math.abs(along)) {
      this.engine.follow(pan(this.scene.view, across || along));
    } else return;
    event.preventDefault();
  }

  private leave(): void {
    if (this.drag) return;
    this.scene.pointer = null;
    this.scene.hover = null;
    this.scene.hoverItem = null;
    this.engine.draw(true);
    this.events.hovered(null, 0, 0);
  }

  /** Called when the browser takes over the pointer to scroll by touch. */
  private cancel(): void {
    if (!this.drag) return;
    this.scene.area = this.drag.area;
    this.drag = null;
    this.engine.draw(false);
  }
}

function positionIn(event: MouseEvent, element: Element): { x: number; y: number } {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function itemOf({ place }: Under): TrackItem | null {
  return place?.item.kind === "track" ? place.item : null;
}

function roundArea(area: Area): { start: number; end: number } {
  const start = Math.floor(area.start);
  return { start, end: Math.max(Math.ceil(area.end), start + 1) };
}
