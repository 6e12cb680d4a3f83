/** Mouse, pen and wheel. */

import type { TimelineEngine } from "./engine";
import { tracksBetween } from "./hit";
import { PIN_WIDTH } from "./paint/gutter";
import { MINIMAP_HEIGHT, minimapView } from "./paint/top";
import type { Item, TrackItem } from "./rows";
import type { Area } from "./scene";
import type { Under } from "./under";
import { pan, timeAt, type View, xAt, zoom } from "./viewport";

/** Pixels that the pointer may move during a click. */
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
  /** End of the area that stays. */
  fixed: number;
  /** The area as it was before. */
  area: Area | null;
  onRuler: boolean;
}

function wheelPixels(event: WheelEvent, delta: number): number {
  return event.deltaMode === WheelEvent.DOM_DELTA_LINE ? delta * LINE_PIXELS : delta;
}

export interface Pointer {
  stop(): void;
  /** What is drawn changed: something else may stand under a pointer that rests. */
  look(): void;
}

/** Handles everything the pointer does on the timeline. */
export function listenPointer(engine: TimelineEngine): Pointer {
  const { surface, scene, events } = engine;
  let drag: Drag | null = null;

  const at = (event: MouseEvent, element: Element) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const timeOf = (x: number) => {
    const time = timeAt(scene.view, Math.min(Math.max(x - scene.gutter, 0), engine.width));
    return Math.min(Math.max(time, scene.limits.start), scene.limits.end);
  };

  function hover(event: PointerEvent): void {
    const { x, y } = at(event, surface.stage);
    scene.pointer = { x, y };
    tell(x, y, engine.barUnder(x, y));
  }

  function look(): void {
    if (drag || !scene.pointer) return;
    const { x, y } = scene.pointer;
    const under = engine.barUnder(x, y);
    const isSame = under.bar?.id === scene.hover?.id && under.bar?.merged === scene.hover?.merged;
    if (!isSame || itemOf(under) !== scene.hoverItem) tell(x, y, under);
  }

  function tell(x: number, y: number, under: Under): void {
    const { place, bar } = under;
    const item = itemOf(under);
    const changedItem = item !== scene.hoverItem;
    scene.hover = bar;
    scene.hoverItem = item;
    surface.stage.style.cursor = cursorAt(x, place?.item ?? null, bar !== null);
    engine.draw(changedItem);
    const box = surface.stage.getBoundingClientRect();
    events.hovered(bar, box.left + x, box.top + y);
  }

  function cursorAt(x: number, item: Item | null, onBar: boolean): string {
    if (x < scene.gutter) return item ? "pointer" : "default";
    if (edgeAt(x) !== null) return "ew-resize";
    return onBar ? "pointer" : "crosshair";
  }

  /** The other end of the area whose edge is at `x`. */
  function edgeAt(x: number): number | null {
    if (!scene.area) return null;
    const left = scene.gutter + xAt(scene.view, scene.area.start);
    const right = scene.gutter + xAt(scene.view, scene.area.end);
    if (Math.abs(x - left) <= EDGE_SLACK) return scene.area.end;
    return Math.abs(x - right) <= EDGE_SLACK ? scene.area.start : null;
  }

  function kindOf(event: PointerEvent): Kind {
    if (event.button === 1 || event.shiftKey || event.ctrlKey || event.metaKey) return "pan";
    return event.altKey ? "zoom" : "pending";
  }

  function down(event: PointerEvent): void {
    if (event.button > 1) return;
    const { x, y } = at(event, surface.stage);
    if (x < 0 || x >= scene.width) return;
    engine.root.focus({ preventScroll: true });
    if (event.button === 1) event.preventDefault();
    const { place } = engine.barUnder(x, y);
    if (x < scene.gutter) {
      if (event.button === 0 && place) clickItem(place.item, x);
      return;
    }
    const fixed = edgeAt(x);
    const kind = kindOf(event);
    const isEdge = kind === "pending" && fixed !== null;
    drag = {
      kind: isEdge ? "edge" : kind,
      x,
      y,
      view: scene.view,
      fixed: fixed ?? timeOf(x),
      area: scene.area,
      onRuler: false,
    };
    engine.releaseAll();
    surface.stage.setPointerCapture(event.pointerId);
  }

  function clickItem(item: Item, x: number): void {
    const { layoutState } = scene;
    if (item.kind === "process") {
      events.layout({ ...layoutState, collapsedProcesses: toggled(layoutState.collapsedProcesses, item.key) });
    } else if (x > scene.gutter - PIN_WIDTH - 4) {
      const { track } = item.thread;
      const { pinned } = layoutState;
      const next = pinned.includes(track) ? pinned.filter((one) => one !== track) : [...pinned, track];
      events.layout({ ...layoutState, pinned: next });
    } else {
      events.layout({ ...layoutState, collapsedTracks: toggled(layoutState.collapsedTracks, item.thread.track) });
    }
  }

  function move(event: PointerEvent): void {
    if (!drag) {
      hover(event);
      return;
    }
    const { x, y } = at(event, drag.onRuler ? surface.top : surface.stage);
    scene.pointer = { x, y };
    if (drag.kind === "pending" && Math.hypot(x - drag.x, y - drag.y) > CLICK_SLACK) {
      drag.kind = "area";
      scene.hover = null;
      events.hovered(null, 0, 0);
    }
    if (drag.kind === "pan") engine.follow(pan(drag.view, drag.x - x));
    else if (drag.kind === "minimap") dragMinimap(x);
    else if (drag.kind !== "pending") {
      scene.area = areaTo(drag, x, y);
      engine.draw(false);
    }
  }

  function areaTo(from: Drag, x: number, y: number): Area {
    const [one, other] = [from.fixed, timeOf(x)];
    const range = { start: Math.min(one, other), end: Math.max(one, other) };
    if (from.kind === "edge") return { ...range, tracks: scene.area?.tracks ?? null };
    if (from.onRuler || from.kind === "zoom") return { ...range, tracks: null };
    const tracks = tracksBetween(scene.layout, from.y, y, scene.scroll);
    return { ...range, tracks: tracks.length > 0 ? tracks : null };
  }

  function up(event: PointerEvent): void {
    if (!drag) return;
    const done = drag;
    drag = null;
    const { area } = scene;
    if (done.kind === "pending") {
      const { bar } = engine.barUnder(done.x, done.y);
      if (!done.onRuler) events.picked(bar);
      else events.area(null);
    } else if (done.kind === "zoom" && area) {
      scene.area = done.area;
      if (area.end > area.start) engine.goTo(area, 0);
    } else if ((done.kind === "area" || done.kind === "edge") && area) {
      events.area(area.end > area.start ? { ...area, ...rounded(area) } : null);
    }
    if (!done.onRuler) hover(event);
  }

  function doubleClick(event: MouseEvent): void {
    const { x, y } = at(event, surface.stage);
    const { bar } = engine.barUnder(x, y);
    if (bar) engine.goTo(bar);
  }

  function dragMinimap(x: number): void {
    const middle = timeAt(minimapView(scene), x - scene.gutter);
    engine.follow({ start: middle - (scene.view.scale * engine.width) / 2, scale: scene.view.scale });
  }

  function downTop(event: PointerEvent): void {
    const { x, y } = at(event, surface.top);
    if (event.button !== 0 || x < scene.gutter) return;
    engine.root.focus({ preventScroll: true });
    engine.releaseAll();
    surface.top.setPointerCapture(event.pointerId);
    const kind: Kind = y < MINIMAP_HEIGHT ? "minimap" : kindOf(event);
    drag = { kind, x, y, view: scene.view, fixed: timeOf(x), area: scene.area, onRuler: true };
    if (kind === "minimap") dragMinimap(x);
  }

  function wheel(event: WheelEvent): void {
    const x = at(event, surface.stage).x - scene.gutter;
    const [across, along] = [wheelPixels(event, event.deltaX), wheelPixels(event, event.deltaY)];
    if (event.ctrlKey || event.metaKey) {
      engine.follow(zoom(scene.view, WHEEL_ZOOM ** along, Math.max(x, 0)));
    } else if (event.shiftKey || Math.abs(across) > Math.abs(along)) {
      engine.follow(pan(scene.view, across || along));
    } else return;
    event.preventDefault();
  }

  function leave(): void {
    if (drag) return;
    scene.pointer = null;
    scene.hover = null;
    scene.hoverItem = null;
    engine.draw(true);
    events.hovered(null, 0, 0);
  }

  /** The browser took the pointer, to scroll by touch. */
  function cancel(): void {
    if (!drag) return;
    scene.area = drag.area;
    drag = null;
    engine.draw(false);
  }

  const { stage, top } = surface;
  const undo: (() => void)[] = [];
  function on<K extends keyof HTMLElementEventMap>(
    element: HTMLElement,
    type: K,
    handler: (event: HTMLElementEventMap[K]) => void,
  ): void {
    element.addEventListener(type, handler as EventListener, { passive: false });
    undo.push(() => element.removeEventListener(type, handler as EventListener));
  }
  on(stage, "pointerdown", down);
  on(top, "pointerdown", downTop);
  for (const element of [stage, top]) {
    on(element, "pointermove", (event) => (element === top && !drag ? undefined : move(event)));
    on(element, "pointerup", up);
    on(element, "pointercancel", cancel);
    on(element, "pointerleave", leave);
    on(element, "wheel", wheel);
  }
  on(stage, "dblclick", doubleClick);
  on(top, "dblclick", () => engine.reset());
  const stop = () => {
    for (const step of undo) step();
  };
  return { stop, look };
}

function itemOf({ place }: Under): TrackItem | null {
  return place?.item.kind === "track" ? place.item : null;
}

function rounded(area: Area): { start: number; end: number } {
  const start = Math.floor(area.start);
  return { start, end: Math.max(Math.ceil(area.end), start + 1) };
}

function toggled<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}
