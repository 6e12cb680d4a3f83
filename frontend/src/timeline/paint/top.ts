/** The strip above the rows: an overview of the whole range, and the ruler. */

import { duration } from "../../base/format";
import { levelOf } from "../cache";
import { pixelOf } from "../colours";
import type { SliceRow } from "../decode";
import { trackOfRow } from "../lanes";
import { Lookups } from "../lookup";
import { drawRow, newLine, Picture } from "../raster";
import { findTrack, type RowProcess } from "../rows";
import { type Scene, timeWidth } from "../scene";
import { LABEL_FONT } from "../theme";
import { fit, niceStep, tickLabel, ticks, timeAt, type View, xAt } from "../viewport";
import { TICK_SPACING } from "./rows";
import { clip, fillBox, fillText } from "./shapes";
import { stepPlaces } from "./steps";
import { TextFitter } from "./text";

export const MINIMAP_HEIGHT = 22;
const RULER_HEIGHT = 22;
export const TOP_HEIGHT = MINIMAP_HEIGHT + RULER_HEIGHT;
const LANE_TOP = 3;
/** Largest width of a mark's name. */
const MARK_MOST = 160;

/** A text on the ruler and its box. */
interface Label {
  text: string;
  colours: { fill: string; text: string };
  left: number;
  right: number;
}

/** The view of the minimap: the full range. */
export function minimapView(scene: Scene): View {
  return fit(scene.limits, timeWidth(scene));
}

/** A row of the minimap. */
interface Lane {
  owner: Pick<RowProcess, "name" | "rankPlace">;
  bars: SliceRow | undefined;
}

const NOBODY: Lane["owner"] = { name: "" };

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

export class TopPainter {
  /** The minimap, and what it was drawn from. */
  private lanes: { content: readonly unknown[]; image: ImageData } | null = null;
  private readonly lookups = new Lookups();
  private readonly fitter: TextFitter;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.fitter = new TextFitter(context);
  }

  forgetWidths(): void {
    this.fitter.forget();
  }

  paint(scene: Scene): void {
    const { context } = this;
    const { theme, gutter, width, ratio } = scene;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    fillBox(context, theme.surfaceText, 0, 0, width, TOP_HEIGHT);
    this.paintLanes(scene);
    this.paintWindow(scene);
    this.paintRuler(scene);
    fillBox(context, theme.line, gutter - 1, 0, 1, TOP_HEIGHT);
    context.fillRect(0, MINIMAP_HEIGHT, width, 1);
    context.fillRect(0, TOP_HEIGHT - 1, width, 1);
  }

  private paintLanes(scene: Scene): void {
    const { ratio, gutter, limits, theme, labels } = scene;
    const width = Math.round(timeWidth(scene) * ratio);
    if (width <= 0) return;
    const view = minimapView(scene);
    const lanes = scene.minimapRows.map((row) => {
      const owner = findTrack(scene.processes, trackOfRow(row))?.process ?? NOBODY;
      const level = levelOf(view.scale / ratio);
      return { owner, bars: scene.caches.slices.pieces(row, limits.start, limits.end, level)[0]?.data };
    });
    const shown = lanes.flatMap(({ owner, bars }) => [owner, bars]);
    const content = [width, ratio, view.start, view.scale, theme, labels, scene.needle !== "", ...shown];
    if (!this.lanes || !isSame(this.lanes.content, content)) {
      this.lanes = { content, image: this.drawLanes(scene, lanes, width, view) };
    }
    this.context.putImageData(this.lanes.image, Math.round(gutter * ratio), 0);
  }

  private drawLanes(scene: Scene, lanes: readonly Lane[], width: number, view: View): ImageData {
    const { ratio } = scene;
    const height = Math.round((MINIMAP_HEIGHT - 1) * ratio);
    const image = new ImageData(width, height);
    const picture = new Picture(new Uint32Array(image.data.buffer), width);
    const blank = new Uint32Array(width).fill(pixelOf(scene.theme.surface));
    picture.stampLine(blank, 0, height);
    const lane = (MINIMAP_HEIGHT - 2 * LANE_TOP) / Math.max(lanes.length, 1);
    lanes.forEach(({ owner, bars }, index) => {
      const line = newLine(view.start, view.scale / ratio, width, Number.POSITIVE_INFINITY);
      if (bars) {
        const lookup = this.lookups.get(bars, owner, scene, scene.needle !== "");
        drawRow(bars, line, { ...lookup, edge: lookup.fill });
      }
      const [top, bottom] = [LANE_TOP + index * lane, LANE_TOP + (index + 1) * lane - (lane > 3 ? 1 : 0)];
      picture.stampColumns(blank, [{ line }], [Math.round(top * ratio), Math.round(bottom * ratio)], [0, height]);
    });
    return image;
  }

  /** Draws the visible part, the hits of the search and the marks. */
  private paintWindow(scene: Scene): void {
    const { context } = this;
    const { theme, gutter, view } = scene;
    const all = minimapView(scene);
    const width = timeWidth(scene);
    const x = (time: number) => gutter + xAt(all, time);
    context.fillStyle = theme.text;
    for (const hit of scene.hits) context.fillRect(Math.round(x(hit)), MINIMAP_HEIGHT - 4, 1, 3);
    for (const mark of scene.marks) {
      fillBox(context, theme.mark(mark.colour).fill, x(mark.start), 0, Math.max(x(mark.end) - x(mark.start), 2), 3);
    }
    const left = Math.max(x(view.start), gutter);
    const right = Math.min(x(timeAt(view, width)), gutter + width);
    context.fillStyle = theme.text;
    context.globalAlpha = 0.1;
    context.fillRect(gutter, 0, left - gutter, MINIMAP_HEIGHT);
    context.fillRect(right, 0, gutter + width - right, MINIMAP_HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 2), MINIMAP_HEIGHT - 1);
  }

  private paintRuler(scene: Scene): void {
    const { context } = this;
    const { theme, gutter, view } = scene;
    const width = timeWidth(scene);
    context.save();
    clip(context, 0, MINIMAP_HEIGHT, scene.width, RULER_HEIGHT);
    context.font = LABEL_FONT;
    context.textBaseline = "middle";
    context.textAlign = "right";
    fillText(context, theme.muted, duration(view.scale * width), gutter - 8, MINIMAP_HEIGHT + RULER_HEIGHT / 2);
    clip(context, gutter, MINIMAP_HEIGHT, width, RULER_HEIGHT);
    context.textAlign = "left";
    const pointer = this.pointerLabel(scene);
    const steps = this.paintSteps(scene);
    const labels = [...this.markLabels(scene), ...(pointer ? [pointer] : [])];
    for (const tick of ticks(view, width, TICK_SPACING, scene.zero)) {
      const x = Math.round(gutter + tick.x);
      fillBox(context, theme.line, x, tick.label ? MINIMAP_HEIGHT : TOP_HEIGHT - 5, 1, tick.label ? RULER_HEIGHT : 5);
      if (!tick.label) continue;
      context.fillStyle = theme.muted;
      const end = x + 6 + context.measureText(tick.label).width;
      const hidden = [...steps, ...labels].some((label) => x < label.right && end > label.left);
      if (!hidden && end <= scene.width) context.fillText(tick.label, x + 4, MINIMAP_HEIGHT + RULER_HEIGHT / 2);
    }
    for (const label of labels) this.paintLabel(label);
    context.restore();
  }

  /** Draws where each step begins, with its name where there is room. Returns the room that the names take. */
  private paintSteps(scene: Scene): Pick<Label, "left" | "right">[] {
    const { context } = this;
    const { theme } = scene;
    return stepPlaces(scene).flatMap(({ name, left, right }) => {
      fillBox(context, theme.text, left, MINIMAP_HEIGHT, 1, RULER_HEIGHT);
      const text = this.fitter.fit(name, right - left - 10);
      if (text !== name) return [];
      const width = this.fitter.width(text) + 8;
      fillBox(context, theme.band, left + 1, MINIMAP_HEIGHT + 3, width, RULER_HEIGHT - 6);
      fillText(context, theme.text, text, left + 5, MINIMAP_HEIGHT + RULER_HEIGHT / 2);
      return [{ left, right: left + width }];
    });
  }

  /** Names of the marks and their positions, each cut where the next one begins. */
  private markLabels(scene: Scene): Label[] {
    const { gutter, view, width } = scene;
    const places = scene.marks
      .map((mark) => ({ mark, x: gutter + xAt(view, mark.start), end: gutter + xAt(view, mark.end) }))
      .filter(({ x, end }) => end >= gutter && x <= width)
      .sort((a, b) => a.x - b.x);
    return places.map(({ mark, x }, index) => {
      const left = Math.max(Math.round(x), gutter);
      const room = Math.min((places[index + 1]?.x ?? width) - left - 2, MARK_MOST);
      const text = this.fitter.fit(mark.name, room - 8);
      return {
        text,
        colours: scene.theme.mark(mark.colour),
        left,
        right: left + (text ? this.fitter.width(text) + 8 : 4),
      };
    });
  }

  private paintLabel({ text, colours, left, right }: Label): void {
    const { context } = this;
    fillBox(context, colours.fill, left, MINIMAP_HEIGHT + 3, right - left, RULER_HEIGHT - 6);
    fillText(context, colours.text, text, left + 4, MINIMAP_HEIGHT + RULER_HEIGHT / 2);
  }

  /** The time under the pointer, to the precision of a pixel, and its position. */
  private pointerLabel(scene: Scene): Label | null {
    const { pointer, gutter, view } = scene;
    if (!pointer || pointer.x < gutter) return null;
    const step = niceStep(view.scale);
    const time = timeAt(view, pointer.x - gutter) - scene.zero;
    const text = tickLabel(Math.round(time / step) * step, step, niceStep(view.scale * TICK_SPACING));
    const width = this.context.measureText(text).width + 8;
    const left = Math.min(pointer.x + 1, scene.width - width);
    const { accent, surfaceText } = scene.theme;
    return { text, colours: { fill: accent, text: surfaceText }, left, right: left + width };
  }
}
