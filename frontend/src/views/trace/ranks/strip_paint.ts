/** Draws strips: in each pixel column the parts of its time, stacked. */

import { PARTS } from "../../../api/types.gen";
import { cssColour, pixelOf, textOn } from "../../../timeline/colours";
import { fillBox, fillText, trace } from "../../../timeline/paint/shapes";
import type { Theme } from "../../../timeline/theme";
import type { Range, View } from "../../../timeline/viewport";
import type { PartId, Strip, StripAnswer, StripWait } from "./strip_data";
import { LABELLED } from "./strip_layout";

/** Space above and below the bar of a strip that has a name, and below that of a lower one. */
const TOP = 3;
const GAP = 1;
/** From the bottom up. */
const STACK: readonly PartId[] = ["computing", "overlapped", "copying", "communication", "waiting", "free"];
/** Height of free time where nothing else is drawn, px. */
const FREE = 2;
/** Least width of a label, and least height of a bar with one, px. */
const LEAST_LABEL = 40;
const LEAST_TEXT = 12;
/** Length of the head of an arrow. */
const HEAD = 7;
/** Largest height of the tick of a hit. */
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
  height: number;
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
  /** Texts of a wait, the longest first. */
  waitTexts: (wait: StripWait) => string[];
}

export function paintStrips(context: CanvasRenderingContext2D, scene: StripScene): void {
  const { width, height, gutter, ratio, theme } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  fillBox(context, theme.surfaceText, 0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  if (scene.answer) paintBars(context, scene, scene.answer);
  for (const placed of scene.strips) {
    const bar = barOf(placed);
    if (scene.answer && placed.strip?.state === "ready") {
      if (bar.height >= LEAST_TEXT) paintWaits(context, scene, placed.strip, bar);
      for (const step of placed.steps) paintStep(context, scene, step, placed.y);
    } else if (placed.note && bar.height >= LEAST_TEXT) {
      fillText(context, theme.muted, placed.note, gutter + 6, placed.y + placed.height / 2);
    }
    paintHits(context, scene, placed);
    if (placed.height >= LABELLED) fillBox(context, theme.line, 0, placed.y + placed.height - 1, width, 1);
  }
  fillBox(context, theme.line, gutter - 1, 0, 1, height);
}

/** The coloured part of a strip. */
interface Bar {
  y: number;
  height: number;
}

function barOf({ y, height }: Pick<PlacedStrip, "y" | "height">): Bar {
  return height >= LABELLED ? { y: y + TOP, height: height - 2 * TOP } : { y, height: height - GAP };
}

/** Pixels of all strips, right of the names. Kept for the next frame: a new image for each strip costs more than drawing it. */
let kept: ImageData | null = null;

function imageOf(context: CanvasRenderingContext2D, { width, height, gutter, ratio }: StripScene): ImageData {
  const columns = Math.max(Math.round((width - gutter) * ratio), 1);
  const rows = Math.max(Math.round(height * ratio), 1);
  if (kept?.width !== columns || kept.height !== rows) kept = context.createImageData(columns, rows);
  else kept.data.fill(0);
  return kept;
}

/** Draws the parts of strips with their times. */
function paintBars(context: CanvasRenderingContext2D, scene: StripScene, answer: StripAnswer): void {
  const image = imageOf(context, scene);
  const pixels = new Uint32Array(image.data.buffer);
  const room = { filled: new Float64Array(image.width), shares: new Float64Array(image.width) };
  for (const placed of scene.strips) {
    if (placed.strip?.state !== "ready") continue;
    const bar = barOf(placed);
    const top = Math.round(bar.y * scene.ratio);
    const bottom = top + Math.round(bar.height * scene.ratio);
    paintParts(pixels, image, room, scene, answer, placed.strip, [top, bottom]);
  }
  context.putImageData(image, Math.round(scene.gutter * scene.ratio), 0);
}

/** `room`: memory for a number of each column. */
function paintParts(
  pixels: Uint32Array,
  { width: columns, height }: ImageData,
  { filled, shares }: Record<"filled" | "shares", Float64Array>,
  { ratio, view, theme }: StripScene,
  answer: StripAnswer,
  strip: Strip,
  [top, bottom]: readonly [number, number],
): void {
  const rows = bottom - top;
  filled.fill(0);
  for (const id of STACK) {
    const sums = strip.sums[answer.parts.indexOf(id)];
    if (!sums || sums[answer.bins] === 0) continue;
    const most = id === "free" ? Math.round(FREE * ratio) : rows;
    fillShares(shares, answer, sums, view.start, view.scale / ratio);
    const pixel = pixelOf(theme.token(PARTS.budget[id].color));
    for (let x = 0; x < columns; x++) {
      const share = shares[x] as number;
      if (share <= 0) continue;
      const below = filled[x] as number;
      filled[x] = below + share;
      const high = bottom - Math.min(Math.round((below + share) * rows), most);
      const low = Math.min(bottom - Math.round(below * rows), height);
      for (let y = Math.max(high, 0); y < low; y++) pixels[y * columns + x] = pixel;
    }
  }
}

/** Share of a part in the time of each pixel column: see timeBefore. `scale`: ns of a column. */
export function fillShares(
  shares: Float64Array,
  { start: first, end, bins }: Pick<StripAnswer, "start" | "end" | "bins">,
  sums: Float64Array,
  start: number,
  scale: number,
): void {
  const perNs = bins / (end - first);
  let before = 0;
  for (let x = -1; x < shares.length; x++) {
    const at = Math.min(Math.max((start + (x + 1) * scale - first) * perNs, 0), bins);
    const bin = Math.min(at | 0, bins - 1);
    const low = sums[bin] as number;
    const after = low + (at - bin) * ((sums[bin + 1] as number) - low);
    if (x >= 0) shares[x] = (after - before) / scale;
    before = after;
  }
}

function paintWaits(context: CanvasRenderingContext2D, scene: StripScene, strip: Strip, bar: Bar): void {
  const { width, gutter, view, theme } = scene;
  context.fillStyle = cssColour(textOn(theme.token(PARTS.budget.waiting.color)));
  for (const wait of strip.waits) {
    const left = Math.max(gutter + (wait.start - view.start) / view.scale, gutter);
    const right = Math.min(gutter + (wait.end - view.start) / view.scale, width);
    const room = right - left - 8;
    if (room < LEAST_LABEL) continue;
    const text = scene.waitTexts(wait).find((one) => context.measureText(one).width <= room);
    if (text) context.fillText(text, left + 4, bar.y + bar.height / 2 + 1);
  }
}

/** A tick at the bottom of each pixel column with a hit, as on the overview. */
function paintHits(context: CanvasRenderingContext2D, scene: StripScene, { hits, y, height }: PlacedStrip): void {
  const { width, gutter, view, theme } = scene;
  const bottom = y + height - 1;
  const tick = Math.min(TICK, height / 2);
  let last = -1;
  for (const time of hits) {
    const x = Math.round(gutter + (time - view.start) / view.scale);
    if (x >= width) break;
    if (x < gutter || x === last) continue;
    last = x;
    fillBox(context, theme.surfaceText, x - 1, bottom - tick, 3, tick);
    fillBox(context, theme.text, x, bottom - tick, 1, tick);
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

/** Left and right edge of a time range on the canvas, inside the time axis. */
function edgesOf({ width, gutter, view }: StripScene, { start, end }: Range): [number, number] {
  const left = Math.max(gutter + (start - view.start) / view.scale, gutter);
  return [left, Math.max(Math.min(gutter + (end - view.start) / view.scale, width), left)];
}

/** Tints the strips of a dragged range. */
export function paintArea(
  context: CanvasRenderingContext2D,
  scene: StripScene,
  area: Range,
  strips: readonly Bar[],
): void {
  const [left, right] = edgesOf(scene, area);
  if (right <= left) return;
  for (const { y, height } of strips) {
    context.globalAlpha = 0.25;
    fillBox(context, scene.theme.accent, left, y, right - left, height);
    context.globalAlpha = 1;
    fillBox(context, scene.theme.accent, left, y, 1, height);
    fillBox(context, scene.theme.accent, right - 1, y, 1, height);
  }
}

/** Outlines the selected part of a strip. */
export function paintPart(context: CanvasRenderingContext2D, scene: StripScene, part: Range, strip: Bar): void {
  outline(context, scene, part, strip, scene.theme.accent, 2);
}

function outline(
  context: CanvasRenderingContext2D,
  scene: StripScene,
  range: Range,
  strip: Bar,
  colour: string,
  breadth: number,
): void {
  const [left, right] = edgesOf(scene, range);
  if (right <= left) return;
  const bar = barOf(strip);
  context.strokeStyle = colour;
  context.lineWidth = breadth;
  context.strokeRect(left, bar.y, Math.max(right - left, 2), bar.height);
}

/** A wait, and the strips from that which waits to the root of its wait. */
export interface WaitChain {
  wait: StripWait;
  strips: readonly Bar[];
}

/** Where the root was meanwhile, and an arrow to it from each strip that waits, at the end of the wait. */
export function paintChain(context: CanvasRenderingContext2D, scene: StripScene, { wait, strips }: WaitChain): void {
  const { theme, gutter, width } = scene;
  const root = strips.at(-1);
  if (!root) return;
  outline(context, scene, wait, root, theme.text, 1);
  const end = gutter + (wait.end - scene.view.start) / scene.view.scale;
  const x = Math.round(Math.min(Math.max(end, gutter + HEAD), width - HEAD)) - 0.5;
  for (const [colour, breadth] of [
    [theme.surfaceText, 4],
    [theme.text, 1.5],
  ] as const) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = breadth;
    for (const [at, strip] of strips.slice(1).entries()) {
      const from = middleOf(strips[at] ?? strip);
      const to = middleOf(strip);
      const down = Math.sign(to - from);
      context.beginPath();
      trace(context, x, from, 0, 0, 0, to - from);
      context.stroke();
      context.beginPath();
      trace(context, x, to, 0, 0, -HEAD / 2, -down * HEAD, HEAD / 2, -down * HEAD);
      context.fill();
    }
  }
}

const middleOf = ({ y, height }: Bar): number => y + height / 2;
