/** All arrows of the chosen kinds of flows, drawn thin: the more joined arrows, the stronger the line. */

import { levelOf } from "../cache";
import type { ArrowSet } from "../decode";
import { ROWS_PER_TRACK, trackOfRow } from "../lanes";
import { type FlowCurve, rowPlaces, type Scene, type SliceMark, shownRange, timeWidth } from "../scene";
import { timeAt, xAt } from "../viewport";
import { arrowHead, clip, curve } from "./shapes";

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
      for (const { x0, y0, x1, y1 } of own) curve(context, [x0, y0, x1, y1], [8, 120]);
      context.stroke();
      if (!hasHeads) return;
      context.beginPath();
      for (const { x1, y1 } of own) arrowHead(context, x1, y1, HEAD);
      context.fill();
    });
    context.globalAlpha = 1;
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

/** Middle of a row on the canvas; null if the row is not laid out. */
function middleOf(scene: Scene, track: number, depth: number): number | null {
  const place = rowPlaces(scene, track, depth).at(-1);
  return place ? place.y + place.height / 2 : null;
}

/** Middle of each row, computed once per frame. */
class Heights {
  private readonly known = new Map<number, number | null>();

  constructor(private readonly scene: Scene) {}

  of(row: number): number | null {
    const known = this.known.get(row);
    if (known !== undefined) return known;
    const middle = middleOf(this.scene, trackOfRow(row), row % ROWS_PER_TRACK);
    this.known.set(row, middle);
    return middle;
  }
}

function point(scene: Scene, { track, depth }: SliceMark, time: number): { x: number; y: number } | null {
  const y = middleOf(scene, track, depth);
  return y === null ? null : { x: scene.gutter + xAt(scene.view, time), y };
}

/** A flow of the selected slice as a curve with an arrow head. Draws from the end of the first slice, or from its start if the second slice begins before that end. */
export function paintFlow(context: CanvasRenderingContext2D, scene: Scene, flow: FlowCurve): void {
  const begin = flow.to.start >= flow.from.end ? flow.from.end : flow.from.start;
  const from = point(scene, flow.from, begin);
  const to = point(scene, flow.to, flow.to.start);
  if (!from || !to) return;
  context.strokeStyle = context.fillStyle = scene.theme.flow(flow.kind);
  context.lineWidth = 1.5;
  context.beginPath();
  curve(context, [from.x, from.y, to.x, to.y], [24, 160], 5);
  context.stroke();
  context.beginPath();
  context.arc(from.x, from.y, 2.5, 0, 2 * Math.PI);
  context.fill();
  context.beginPath();
  arrowHead(context, to.x, to.y, 7);
  context.fill();
}
