/** All arrows of the chosen kinds of flows, drawn thin: the more joined arrows, the stronger the line. */

import { levelOf } from "../cache";
import type { ArrowSet } from "../decode";
import { ROWS_PER_TRACK, trackOfRow } from "../lanes";
import { type FlowCurve, rowPlaces, type Scene, type SliceMark, shownRange, timeWidth } from "../scene";
import { timeAt, xAt } from "../viewport";
import { clip } from "./text";

/** Opacity by how many arrows were joined: 1, up to 3, up to 15, more. */
const STRENGTHS = [0.4, 0.55, 0.7, 0.9];
/** Above this number arrows fade so that the slices below stay readable, but never below this share. */
const CROWD = 150;
const FAINT = 0.1;
/** Above this number of arrows, arrow heads are not drawn: they would hide the slices. */
const HEADS = 300;
const HEAD = 5;

/** An arrow on the canvas, in CSS pixels. */
export interface Curve {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  strength: number;
}

export class ArrowPainter {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  /** Paints over the rows. Returns the number of visible arrows. */
  paint(scene: Scene): number {
    if (scene.arrows.length === 0) return 0;
    const { context } = this;
    context.save();
    clip(context, scene.gutter, 0, timeWidth(scene), scene.height);
    context.lineWidth = 1;
    const all = scene.arrows.map((kind) => ({ kind, curves: curvesOf(scene, kind) }));
    const shown = all.reduce((sum, { curves }) => sum + curves.length, 0);
    const fade = Math.max(Math.min(1, Math.sqrt(CROWD / Math.max(shown, 1))), FAINT);
    for (const { kind, curves } of all) {
      context.strokeStyle = context.fillStyle = scene.theme.flow(scene.flowKinds[kind] ?? "");
      this.stroke(curves, fade);
    }
    context.restore();
    return shown;
  }

  private stroke(curves: readonly Curve[], fade: number): void {
    const { context } = this;
    const hasHeads = curves.length <= HEADS;
    STRENGTHS.forEach((alpha, strength) => {
      const own = curves.filter((curve) => curve.strength === strength);
      if (own.length === 0) return;
      context.globalAlpha = alpha * fade;
      context.beginPath();
      for (const { x0, y0, x1, y1 } of own) {
        const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 8), 120);
        context.moveTo(x0, y0);
        context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      }
      context.stroke();
      if (hasHeads) this.heads(own);
    });
    context.globalAlpha = 1;
  }

  private heads(curves: readonly Curve[]): void {
    const { context } = this;
    context.beginPath();
    for (const { x1, y1 } of curves) {
      context.moveTo(x1, y1);
      context.lineTo(x1 - HEAD, y1 - HEAD / 2);
      context.lineTo(x1 - HEAD, y1 + HEAD / 2);
    }
    context.fill();
  }
}

export function strengthOf(count: number): number {
  return count > 15 ? 3 : count > 3 ? 2 : count > 1 ? 1 : 0;
}

/** The arrows of a kind that cross the canvas. */
export function curvesOf(scene: Scene, kind: number): Curve[] {
  const range = shownRange(scene);
  const level = levelOf(scene.view.scale / scene.ratio);
  const heights = new Heights(scene);
  const found: Curve[] = [];
  const right = scene.gutter + timeWidth(scene);
  for (const { data, window } of scene.caches.arrows.pieces(kind, range.start, range.end, level)) {
    const isPart = window.start > range.start || window.end < range.end;
    if (isPart && found.length > 0) continue; // the full range is loaded
    addCurves(scene, data, heights, right, found);
  }
  return found;
}

function addCurves(scene: Scene, data: ArrowSet, heights: Heights, right: number, found: Curve[]): void {
  const { gutter, view, height } = scene;
  const left = timeAt(view, 0);
  const last = timeAt(view, right - gutter);
  for (let index = 0; index < data.count.length; index++) {
    const [from, to] = [data.fromTime[index] as number, data.toTime[index] as number];
    if ((from < left && to < left) || (from > last && to > last)) continue;
    const y0 = heights.of(data.fromRow[index] as number);
    const y1 = heights.of(data.toRow[index] as number);
    if (y0 === null || y1 === null || (y0 < 0 && y1 < 0) || (y0 > height && y1 > height)) continue;
    const strength = strengthOf(data.count[index] as number);
    found.push({ x0: gutter + xAt(view, from), y0, x1: gutter + xAt(view, to), y1, strength });
  }
}

/** Middle of each row on the canvas, computed once per frame; null if the row is not laid out. */
class Heights {
  private readonly known = new Map<number, number | null>();

  constructor(private readonly scene: Scene) {}

  of(row: number): number | null {
    const known = this.known.get(row);
    if (known !== undefined) return known;
    const places = rowPlaces(this.scene, trackOfRow(row), row % ROWS_PER_TRACK);
    const place = places[places.length - 1];
    const middle = place ? place.y + place.height / 2 : null;
    this.known.set(row, middle);
    return middle;
  }
}

/** A flow of the selected slice as a curve with an arrow head. */
function point(scene: Scene, slice: SliceMark, time: number): { x: number; y: number } | null {
  const places = rowPlaces(scene, slice.track, slice.depth);
  const place = places[places.length - 1];
  if (!place) return null;
  return { x: scene.gutter + xAt(scene.view, time), y: place.y + place.height / 2 };
}

/** Draws from the end of the first slice, or from its start if the second slice begins before that end. */
export function paintFlow(context: CanvasRenderingContext2D, scene: Scene, flow: FlowCurve): void {
  const begin = flow.to.start >= flow.from.end ? flow.from.end : flow.from.start;
  const from = point(scene, flow.from, begin);
  const to = point(scene, flow.to, flow.to.start);
  if (!from || !to) return;
  const colour = scene.theme.flow(flow.kind);
  const bend = Math.min(Math.max(Math.abs(to.x - from.x) / 2, 24), 160);
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x - 5, to.y);
  context.stroke();
  context.beginPath();
  context.arc(from.x, from.y, 2.5, 0, 2 * Math.PI);
  context.fill();
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - 7, to.y - 3.5);
  context.lineTo(to.x - 7, to.y + 3.5);
  context.fill();
}
