/** A counter as a filled step curve: the area up to the largest value of each pixel, the last value as a line. */

import { fixedDecimals } from "../../base/format";
import { firstIndex } from "../../base/search";
import { levelOf } from "../cache";
import { cssColour, MEANINGS } from "../colours";
import type { CounterSeries } from "../decode";
import { isDerivedTrack } from "../lanes";
import type { TrackItem } from "../rows";
import { type Range, type Scene, type Section, shownRange, timeWidth } from "../scene";
import { LABEL_FONT } from "../theme";
import { xAt } from "../viewport";
import { clip, fillText } from "./shapes";

const TOP = 3;

/** Visible series of a counter. */
export function counterSeries(scene: Scene, item: TrackItem): CounterSeries[] {
  const range = shownRange(scene);
  const level = levelOf(scene.view.scale / scene.ratio);
  const pieces = scene.caches.counters.pieces(item.thread.track, range.start, range.end, level);
  return pieces[0]?.data ?? [];
}

/**
 * Value that is drawn at full height; 0 if no value is positive. Of a recorded counter the largest of all, of a derived one the
 * largest in the range: one slow launch would flatten all others.
 */
export function counterTop(thread: TrackItem["thread"], series: readonly CounterSeries[], range: Range): number {
  if (!isDerivedTrack(thread.track) && thread.max_value !== null && thread.max_value > 0) return thread.max_value;
  let top = 0;
  for (const one of series) {
    for (let at = Math.max(valueAt(one, range.start), 0); at < one.time.length; at++) {
      if ((one.time[at] as number) >= range.end) break;
      top = Math.max(top, one.max[at] as number);
    }
  }
  return top;
}

/** Index of the current value at `time`; -1 before the first. */
export function valueAt(series: CounterSeries, time: number): number {
  return firstIndex(series.time.length, (index) => (series.time[index] as number) <= time) - 1;
}

export function counterColour(scene: Scene, index: number): string {
  const { slices } = scene.theme;
  return cssColour(
    slices[index === 0 ? 0 : MEANINGS.length + ((index * 5) % (slices.length - MEANINGS.length))] ??
      slices[0] ?? [0, 0, 0],
  );
}

export function paintCounter(context: CanvasRenderingContext2D, scene: Scene, section: Section, item: TrackItem): void {
  const series = counterSeries(scene, item);
  const bottom = item.y + section.shift + item.height - 2;
  const height = item.height - 2 - TOP;
  const top = counterTop(item.thread, series, shownRange(scene));
  context.save();
  clip(context, scene.gutter, section.top, timeWidth(scene), section.bottom - section.top);
  series.forEach((one, index) => {
    const colour = counterColour(scene, index);
    const y = (value: number) => bottom - (Math.max(value, 0) / (top || 1)) * height;
    context.fillStyle = colour;
    context.globalAlpha = 0.28;
    trace(context, scene, one, one.max, y, bottom);
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = colour;
    trace(context, scene, one, one.last, y, null);
    context.stroke();
  });
  const label = `${fixedDecimals(top, top > 0 && top < 10 ? 2 : 0)} ${item.thread.unit}`.trim();
  if (series.length > 0 && item.height > 20) paintTop(context, scene, label, bottom - height);
  context.restore();
}

/** Draws the value of the full height, on a background so that the curve does not cross it. */
function paintTop(context: CanvasRenderingContext2D, scene: Scene, text: string, y: number): void {
  context.font = LABEL_FONT;
  context.textBaseline = "top";
  context.fillStyle = scene.theme.surfaceText;
  context.globalAlpha = 0.8;
  context.fillRect(scene.gutter + 2, y - 1, context.measureText(text).width + 4, 13);
  context.globalAlpha = 1;
  fillText(context, scene.theme.muted, text, scene.gutter + 4, y);
}

function trace(
  context: CanvasRenderingContext2D,
  scene: Scene,
  series: CounterSeries,
  values: Float64Array,
  y: (value: number) => number,
  bottom: number | null,
): void {
  const { view, gutter, limits } = scene;
  const width = timeWidth(scene);
  const from = Math.max(valueAt(series, view.start), 0);
  const right = Math.min(xAt(view, limits.end), width);
  context.beginPath();
  let x = 0;
  for (let index = from; index < series.time.length; index++) {
    x = xAt(view, series.time[index] as number);
    if (x > width) break;
    const left = gutter + Math.max(x, -1);
    const height = y(values[index] as number);
    if (index === from) {
      if (bottom !== null) context.moveTo(left, bottom);
      context[bottom === null ? "moveTo" : "lineTo"](left, height);
    } else {
      context.lineTo(left, y(values[index - 1] as number));
      context.lineTo(left, height);
    }
    const next = index + 1 < series.time.length ? xAt(view, series.time[index + 1] as number) : right;
    if (next >= width || index + 1 === series.time.length) {
      context.lineTo(gutter + Math.min(next, right), height);
      if (bottom !== null) context.lineTo(gutter + Math.min(next, right), bottom);
      return;
    }
  }
}
