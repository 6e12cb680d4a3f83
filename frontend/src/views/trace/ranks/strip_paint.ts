/** Draws strips: in each pixel column the parts of its time, stacked. */

import { PARTS } from "../../../api/types.gen";
import { cssColour, pixelOf, textOn } from "../../../timeline/colours";
import { fillBox, fillText } from "../../../timeline/paint/shapes";
import type { Theme } from "../../../timeline/theme";
import type { View } from "../../../timeline/viewport";
import { type PartId, type Strip, type StripAnswer, timeBefore } from "./strip_data";

export const STRIP_HEIGHT = 24;
const BAR = 18;
const TOP = 3;
/** From the bottom up. */
const STACK: readonly PartId[] = ["computing", "overlapped", "copying", "communication", "waiting", "free"];
/** Height of free time where nothing else is drawn, px. */
const FREE = 2;
const LEAST_LABEL = 40;
/** Height of the tick of a hit. */
const TICK = 5;
/** Height of the label of a step, and the largest part of the step's width that it covers. */
const LABEL = 12;
const MOST_OF_STEP = 0.5;
const FONT = '11px Roboto, "Noto Sans", "Noto Sans SC", "Microsoft YaHei", system-ui, sans-serif';

/** A step compared with that of the other run, at its times on the page. */
export interface PaintedStep {
  start: number;
  end: number;
  change: "worse" | "good" | "muted";
  text: string;
}

/** A strip on the canvas. y: of its top, CSS pixels. */
interface PlacedStrip {
  y: number;
  strip: Strip | undefined;
  /** Shown instead of the parts. */
  note: string;
  steps: readonly PaintedStep[];
  /** Times of the hits of the search, ascending. */
  hits: readonly number[];
}

export interface StripScene {
  width: number;
  height: number;
  gutter: number;
  ratio: number;
  view: View;
  theme: Theme;
  answer: StripAnswer | null;
  strips: readonly PlacedStrip[];
  /** Text of a wait. */
  waitText: (rank: string | null) => string;
}

export function paintStrips(context: CanvasRenderingContext2D, scene: StripScene): void {
  const { width, height, gutter, ratio, theme } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  fillBox(context, theme.surfaceText, 0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const placed of scene.strips) {
    if (scene.answer && placed.strip?.state === "ready") {
      paintParts(context, scene, scene.answer, placed.strip, placed.y);
      paintWaits(context, scene, placed.strip, placed.y);
      for (const step of placed.steps) paintStep(context, scene, step, placed.y);
    } else if (placed.note) {
      fillText(context, theme.muted, placed.note, gutter + 6, placed.y + STRIP_HEIGHT / 2);
    }
    paintHits(context, scene, placed.hits, placed.y);
    fillBox(context, theme.line, 0, placed.y + STRIP_HEIGHT - 1, width, 1);
  }
  fillBox(context, theme.line, gutter - 1, 0, 1, height);
}

function paintParts(
  context: CanvasRenderingContext2D,
  scene: StripScene,
  answer: StripAnswer,
  strip: Strip,
  y: number,
) {
  const { width, gutter, ratio, view, theme } = scene;
  const columns = Math.max(Math.round((width - gutter) * ratio), 1);
  const rows = Math.round(BAR * ratio);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const filled = new Float64Array(columns);
  for (const id of STACK) {
    const sums = strip.sums[answer.parts.indexOf(id)];
    if (!sums || sums[answer.bins] === 0) continue;
    const most = id === "free" ? Math.round(FREE * ratio) : rows;
    const shares = columnShares(answer, sums, view.start, view.scale / ratio, columns);
    const pixel = pixelOf(theme.token(PARTS.budget[id].color));
    for (let x = 0; x < columns; x++) {
      const share = shares[x] ?? 0;
      if (share <= 0) continue;
      const below = filled[x] ?? 0;
      filled[x] = below + share;
      const top = Math.min(Math.round((below + share) * rows), most);
      for (let row = Math.round(below * rows); row < top; row++) pixels[(rows - 1 - row) * columns + x] = pixel;
    }
  }
  context.putImageData(image, Math.round(gutter * ratio), Math.round((y + TOP) * ratio));
}

/** Share of a part in the time of each pixel column. `scale`: ns of a column. */
function columnShares(answer: StripAnswer, sums: Float64Array, start: number, scale: number, columns: number) {
  const shares = new Float64Array(columns);
  let before = timeBefore(answer, sums, start);
  for (let x = 0; x < columns; x++) {
    const after = timeBefore(answer, sums, start + (x + 1) * scale);
    shares[x] = (after - before) / scale;
    before = after;
  }
  return shares;
}

function paintWaits(context: CanvasRenderingContext2D, scene: StripScene, strip: Strip, y: number): void {
  const { width, gutter, view, theme } = scene;
  context.fillStyle = cssColour(textOn(theme.token(PARTS.budget.waiting.color)));
  for (const { start, end, rank } of strip.waits) {
    const left = Math.max(gutter + (start - view.start) / view.scale, gutter);
    const right = Math.min(gutter + (end - view.start) / view.scale, width);
    const text = scene.waitText(rank);
    const room = right - left - 8;
    if (room < LEAST_LABEL || context.measureText(text).width > room) continue;
    context.fillText(text, left + 4, y + TOP + BAR / 2 + 1);
  }
}

/** A tick at the bottom of each pixel column with a hit, as on the overview. */
function paintHits(context: CanvasRenderingContext2D, scene: StripScene, hits: readonly number[], y: number): void {
  const { width, gutter, view, theme } = scene;
  const bottom = y + STRIP_HEIGHT - 1;
  let last = -1;
  for (const time of hits) {
    const x = Math.round(gutter + (time - view.start) / view.scale);
    if (x >= width) break;
    if (x < gutter || x === last) continue;
    last = x;
    fillBox(context, theme.surfaceText, x - 1, bottom - TICK, 3, TICK);
    fillBox(context, theme.text, x, bottom - TICK, 1, TICK);
  }
}

/** A line over the step, and the difference at its start where there is room. */
function paintStep(context: CanvasRenderingContext2D, scene: StripScene, step: PaintedStep, y: number): void {
  const { width, gutter, view, theme } = scene;
  const left = Math.max(gutter + (step.start - view.start) / view.scale, gutter);
  const right = Math.min(gutter + (step.end - view.start) / view.scale, width);
  if (right - left < 1) return;
  fillBox(context, theme[step.change], left, y, Math.max(right - left - 1, 1), TOP);
  const room = context.measureText(step.text).width + 8;
  if (room > (right - left) * MOST_OF_STEP) return;
  context.fillRect(left, y, room, TOP + LABEL);
  fillText(context, theme.surfaceText, step.text, left + 4, y + (TOP + LABEL) / 2 + 1);
}
