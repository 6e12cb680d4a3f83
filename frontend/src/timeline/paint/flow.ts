/** A flow of the selected slice as a curve with an arrow head. */

import { type FlowCurve, rowPlaces, type Scene, type SliceMark } from "../scene";
import { xAt } from "../viewport";

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
