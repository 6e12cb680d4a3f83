/** The steps: their names on the ruler, and a faint line at the start of each over the rows of its device. */

import type { TrackItem } from "../rows";
import { itemsInSight, type Scene, type StepMark, timeWidth } from "../scene";
import { xAt } from "../viewport";

/** Least distance of two lines, CSS pixels. */
const APART = 8;
/** Labels of the processes of a device begin with this. */
const DEVICE = "NPU";

/** Steps that begin in the view, without those too close to the one before, each with its x on the canvas. */
function startsInView(scene: Scene): { step: StepMark; x: number }[] {
  const found: { step: StepMark; x: number }[] = [];
  const last = new Map<string, number>();
  for (const step of scene.steps) {
    const x = Math.round(scene.gutter + xAt(scene.view, step.start));
    if (x < scene.gutter || x >= scene.width) continue;
    if (x - (last.get(step.device) ?? Number.NEGATIVE_INFINITY) < APART) continue;
    last.set(step.device, x);
    found.push({ step, x });
  }
  return found;
}

function isOfDevice({ process }: TrackItem, device: string): boolean {
  return process.label.startsWith(DEVICE) && (device === "" || process.label === `${DEVICE} ${device}`);
}

/** Draws the lines over the rows. */
export function paintStepLines(context: CanvasRenderingContext2D, scene: Scene): void {
  const starts = startsInView(scene);
  if (starts.length === 0) return;
  context.fillStyle = scene.theme.text;
  context.globalAlpha = 0.28;
  for (const { item, section, y } of itemsInSight(scene)) {
    if (item.kind !== "track") continue;
    const top = Math.max(y, section.top);
    const bottom = Math.min(y + item.height, section.bottom);
    for (const { step, x } of starts) if (isOfDevice(item, step.device)) context.fillRect(x, top, 1, bottom - top);
  }
  context.globalAlpha = 1;
}

/** Steps that touch the view, with the part of the ruler that each takes. */
export function stepPlaces(scene: Scene): { name: string; left: number; right: number }[] {
  const right = scene.gutter + timeWidth(scene);
  const places = scene.steps.map((step) => ({
    name: step.name,
    left: Math.round(Math.max(scene.gutter + xAt(scene.view, step.start), scene.gutter)),
    right: Math.round(Math.min(scene.gutter + xAt(scene.view, step.end), right)),
  }));
  return places.filter((place) => place.right - place.left >= APART);
}
