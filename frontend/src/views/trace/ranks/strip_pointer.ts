/** Mouse and wheel over the strips: a click selects, a drag makes a range over ranks. */

import { listen } from "../../../base/listen";
import type { Area } from "../../../timeline/scene";
import { pan, timeAt, type View } from "../../../timeline/viewport";
import type { TraceSession } from "../session";
import { toggleRank } from "./rank_rows";
import { itemsBetween, type StripItem } from "./strip_layout";

/** Least movement (px) of a drag. */
const DRAG = 4;

/** A point over the strips. x: from the time axis, y: from the top of all strips, px. */
interface Point {
  x: number;
  y: number;
  time: number;
}

interface Drag {
  kind: "pending" | "area" | "pan" | "zoom";
  from: Point;
  clientX: number;
  clientY: number;
  view: View;
  /** The area before the drag. */
  area: Area | null;
}

/** What is drawn under the pointer. */
interface Strips {
  hover(item: StripItem | null, time: number, event: PointerEvent): void;
  select(item: StripItem, time: number): void;
  draw(): void;
}

export class StripPointer {
  private drag: Drag | null = null;
  /** Where the pointer is. */
  private last: PointerEvent | null = null;

  constructor(
    private readonly session: TraceSession,
    private readonly box: HTMLElement,
    private readonly strips: Strips,
  ) {}

  /** Listens until the returned function is called. */
  listen(): () => void {
    const { down, move, up, cancel, leave, double, wheel } = this;
    const handlers = {
      pointerdown: down,
      pointermove: move,
      pointerup: up,
      pointercancel: cancel,
      pointerleave: leave,
      dblclick: double,
      wheel,
    };
    return listen(this.box, handlers, { passive: false });
  }

  private pointOf(event: MouseEvent): Point | null {
    const scene = this.session.engine?.scene;
    if (!scene) return null;
    const { left, top } = this.box.getBoundingClientRect();
    const x = event.clientX - left - scene.gutter;
    return { x, y: event.clientY - top + this.box.scrollTop, time: timeAt(scene.view, Math.max(x, 0)) };
  }

  private itemAt({ x, y }: Point): StripItem | null {
    const found = x < 0 ? undefined : itemsBetween(this.session.ranks.layout.peek().items, y, y + 1)[0];
    return found?.kind === "rank" ? found : null;
  }

  private readonly down = (event: PointerEvent) => {
    const { engine } = this.session;
    const from = this.pointOf(event);
    if (!engine || !from || from.x < 0 || event.button > 1 || isControl(event.target)) return;
    engine.root.focus({ preventScroll: true });
    engine.releaseAll();
    if (event.button === 1) event.preventDefault();
    const isPan = event.button === 1 || event.shiftKey || event.ctrlKey || event.metaKey;
    const kind = isPan ? "pan" : event.altKey ? "zoom" : "pending";
    const { clientX, clientY } = event;
    this.drag = { kind, from, clientX, clientY, view: engine.scene.view, area: engine.scene.area };
    this.box.setPointerCapture(event.pointerId);
  };

  private readonly move = (event: PointerEvent) => {
    const { drag } = this;
    const { engine } = this.session;
    const at = this.pointOf(event);
    if (!engine || !at) return;
    this.last = event;
    if (!drag) {
      this.strips.hover(isControl(event.target) ? null : this.itemAt(at), at.time, event);
      return;
    }
    if (drag.kind === "pan") {
      engine.follow(pan(drag.view, drag.clientX - event.clientX));
      return;
    }
    const isMoved = Math.hypot(event.clientX - drag.clientX, event.clientY - drag.clientY) >= DRAG;
    if (drag.kind === "pending" && isMoved) {
      drag.kind = "area";
      this.strips.hover(null, 0, event);
    }
    if (drag.kind === "pending") return;
    engine.scene.area = this.areaTo(drag, at);
    engine.draw(false);
    this.strips.draw();
  };

  /** The range between both ends of a drag, over the strips between them. */
  private areaTo({ kind, from }: Drag, to: Point): Area {
    const { ranks, lanes } = this.session;
    const [start, end] = [Math.min(from.time, to.time), Math.max(from.time, to.time)];
    const area = { start: Math.floor(start), end: Math.max(Math.ceil(end), Math.floor(start) + 1), tracks: null };
    const items = itemsBetween(ranks.layout.peek().items, Math.min(from.y, to.y), Math.max(from.y, to.y) + 1);
    const covered = items.flatMap((item) => (item.kind === "rank" ? [lanes.numberOf(item.place.span)] : []));
    return kind === "zoom" || covered.length === 0 ? area : { ...area, lanes: covered };
  }

  private readonly up = (event: PointerEvent) => {
    const { drag } = this;
    const { engine } = this.session;
    this.drag = null;
    if (!drag || !engine) return;
    const { area } = engine.scene;
    if (drag.kind === "pending") {
      const item = this.itemAt(drag.from);
      if (item) this.strips.select(item, drag.from.time);
    } else if (drag.kind === "area") void this.session.setArea(area);
    else if (drag.kind === "zoom") {
      engine.scene.area = drag.area;
      const to = this.pointOf(event);
      const isMoved = Math.abs(event.clientX - drag.clientX) >= DRAG;
      if (to && isMoved) engine.goTo(this.areaTo(drag, to), 0);
    }
    this.strips.draw();
  };

  private readonly cancel = () => {
    const { engine } = this.session;
    if (this.drag && engine) engine.scene.area = this.drag.area;
    this.drag = null;
    engine?.draw(false);
    this.strips.draw();
  };

  /** Shows what is under a resting pointer, after the strips changed. */
  look(): void {
    if (this.last && !this.drag) this.move(this.last);
  }

  private readonly leave = (event: PointerEvent) => {
    this.last = null;
    if (!this.drag) this.strips.hover(null, 0, event);
  };

  private readonly double = (event: MouseEvent) => {
    const at = this.pointOf(event);
    const item = at && !isControl(event.target) ? this.itemAt(at) : null;
    if (item && item.place.span !== this.session.span) void toggleRank(this.session, item.place.span);
  };

  private readonly wheel = (event: WheelEvent) => this.session.engine?.wheel(event);
}

/** Names and headings have their own actions. */
function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("button") !== null;
}
