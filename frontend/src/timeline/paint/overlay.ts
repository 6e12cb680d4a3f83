/** Everything that changes with the pointer and the selection: outlines, area, marks, flows. */

import { duration, fixedDecimals } from "../../base/format";
import { laneOfTrack } from "../lanes";
import { type TrackItem, tracksOf } from "../rows";
import { itemsInSight, type Range, rowPlaces, type Scene, type SliceMark, timeWidth } from "../scene";
import { LABEL_FONT } from "../theme";
import { timeAt, xAt } from "../viewport";
import { paintFlow } from "./arrows";
import { counterColour, counterSeries, valueAt } from "./counter";
import { clip, fillBox, fillText } from "./shapes";

export class OverlayPainter {
  private isClear = false;

  constructor(private readonly context: CanvasRenderingContext2D) {}

  paint(scene: Scene): void {
    const { context } = this;
    const isEmpty = !hasContent(scene);
    if (isEmpty && this.isClear) return; // a canvas that is not drawn on is not sent to the screen again
    this.isClear = isEmpty;
    const { gutter, width, height, ratio } = scene;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.save();
    clip(context, gutter, 0, timeWidth(scene), height);
    for (const mark of scene.marks) this.paintBand(scene, mark, 0.08, scene.theme.mark(mark.colour).fill);
    if (scene.area) this.paintArea(scene);
    this.paintPointer(scene);
    if (scene.hover) this.outline(scene, scene.hover, 1, scene.theme.text);
    for (const flow of scene.flows) paintFlow(context, scene, flow);
    if (scene.selected) this.outline(scene, scene.selected, 2, scene.theme.accent);
    if (scene.second) this.outline(scene, scene.second, 2, scene.theme.text);
    this.paintValues(scene);
    context.restore();
  }

  private outline(scene: Scene, slice: SliceMark, thickness: number, colour: string): void {
    const { context } = this;
    const { gutter, view } = scene;
    const left = Math.max(xAt(view, slice.start), -4);
    const right = Math.min(xAt(view, slice.end), timeWidth(scene) + 4);
    if (right < 0 || left > timeWidth(scene)) return;
    for (const place of rowPlaces(scene, slice.track, slice.depth)) {
      if (!place.inner) continue;
      context.save();
      clip(context, gutter, place.section.top, timeWidth(scene), place.section.bottom - place.section.top);
      const x = Math.floor(gutter + left);
      const breadth = Math.max(Math.ceil(gutter + right) - x, 3);
      context.lineWidth = thickness;
      context.strokeStyle = colour;
      context.strokeRect(x - thickness / 2, place.y - thickness / 2, breadth + thickness, place.height + thickness);
      context.restore();
    }
  }

  private paintBand(scene: Scene, range: Range, strength: number, colour: string): void {
    const { context } = this;
    const left = scene.gutter + xAt(scene.view, range.start);
    const right = scene.gutter + xAt(scene.view, range.end);
    context.fillStyle = colour;
    context.globalAlpha = strength;
    context.fillRect(left, 0, right - left, scene.height);
    context.globalAlpha = 1;
    context.fillRect(Math.round(left), 0, 1, scene.height);
    context.fillRect(Math.round(right) - 1, 0, 1, scene.height);
  }

  /** Draws the dragged range with its length; its rows are tinted more, of a range of ranks only theirs. */
  private paintArea(scene: Scene): void {
    const { context } = this;
    const { area, theme, gutter, view } = scene;
    if (!area) return;
    const { tracks, lanes } = area;
    if (!lanes) this.paintBand(scene, area, tracks ? 0.05 : 0.14, theme.accent);
    const left = gutter + xAt(view, area.start);
    const right = gutter + xAt(view, area.end);
    if (tracks || lanes) {
      const chosen = tracks && new Set(tracks);
      const covers = (track: number) => chosen?.has(track) ?? lanes?.includes(laneOfTrack(track));
      context.fillStyle = theme.accent;
      context.globalAlpha = 0.14;
      for (const { item, section, y } of itemsInSight(scene)) {
        if (item.kind !== "track" || !tracksOf(item.thread).some(covers)) continue;
        const top = Math.max(y, section.top);
        context.fillRect(left, top, right - left, y + item.height - top);
      }
      context.globalAlpha = 1;
    }
    this.label(scene, duration(area.end - area.start), (Math.max(left, gutter) + Math.min(right, scene.width)) / 2, 2);
  }

  private label(scene: Scene, text: string, middle: number, top: number): void {
    const { context } = this;
    context.font = LABEL_FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const width = context.measureText(text).width + 10;
    fillBox(context, scene.theme.accent, middle - width / 2, top, width, 16);
    fillText(context, scene.theme.surfaceText, text, middle, top + 8.5);
    context.textAlign = "left";
  }

  private paintPointer(scene: Scene): void {
    if (!scene.pointer || scene.pointer.x < scene.gutter) return;
    this.context.fillStyle = scene.theme.muted;
    this.context.globalAlpha = 0.5;
    this.context.fillRect(Math.round(scene.pointer.x), 0, 1, scene.height);
    this.context.globalAlpha = 1;
  }

  /** Values of all series of the counter under the pointer. */
  private paintValues(scene: Scene): void {
    const { pointer, hoverItem } = scene;
    if (!pointer || pointer.x < scene.gutter || hoverItem?.thread.kind !== "counter") return;
    const time = timeAt(scene.view, pointer.x - scene.gutter);
    const lines = valueLines(scene, hoverItem, time);
    const { context } = this;
    context.font = LABEL_FONT;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const width = Math.max(0, ...lines.map((line) => context.measureText(line.text).width)) + 26;
    const left = pointer.x + 12 + width > scene.width ? pointer.x - 12 - width : pointer.x + 12;
    const top = Math.min(pointer.y + 10, scene.height - lines.length * 16 - 8);
    context.fillStyle = scene.theme.surfaceText;
    context.strokeStyle = scene.theme.line;
    context.lineWidth = 1;
    if (lines.length > 0) {
      context.fillRect(left, top, width, lines.length * 16 + 6);
      context.strokeRect(left + 0.5, top + 0.5, width, lines.length * 16 + 6);
    }
    lines.forEach((line, index) => {
      const y = top + 11 + index * 16;
      fillBox(context, line.colour, left + 6, y - 4, 8, 8);
      fillText(context, scene.theme.text, line.text, left + 19, y);
    });
  }
}

function hasContent({ marks, area, pointer, hover, flows, selected, second }: Scene): boolean {
  return marks.length + flows.length > 0 || [area, pointer, hover, selected, second].some((one) => one !== null);
}

function valueLines(scene: Scene, item: TrackItem, time: number): { text: string; colour: string }[] {
  return counterSeries(scene, item).flatMap((series, index) => {
    const at = valueAt(series, time);
    if (at < 0) return [];
    const [low, high] = [series.min[at] as number, series.max[at] as number];
    const digits = (value: number) => fixedDecimals(value, Number.isInteger(value) ? 0 : 2);
    const value = low === high ? digits(high) : `${digits(low)} … ${digits(high)}`;
    return [
      {
        text: `${series.name || item.thread.name}: ${value} ${item.thread.unit}`.trim(),
        colour: counterColour(scene, index),
      },
    ];
  });
}
