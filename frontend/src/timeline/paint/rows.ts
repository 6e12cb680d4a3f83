/** Bars, labels and counters: everything that changes with the view and the data. */

import { levelOf, type PieceCache, partsOf } from "../cache";
import { mix, pixelOf } from "../colours";
import { endOf, type SliceRow, startOf } from "../decode";
import { isDerivedTrack } from "../lanes";
import { type Lookup, Lookups, labelColour } from "../lookup";
import { clearLine, drawRow, type Line, newLine, Picture } from "../raster";
import { BAR, type Bar, barsIn } from "../rows";
import { itemsInSight, itemsOf, type Scene, type Section, sections, shownRange, timeWidth } from "../scene";
import { LABEL_FONT } from "../theme";
import { ticks, xAt } from "../viewport";
import { paintCounter } from "./counter";
import { clip, fillText } from "./shapes";
import { paintStepLines } from "./steps";
import { TextFitter } from "./text";

/** Bars narrower than this (CSS pixels) have no label. */
const LABEL_FROM = 22;
const LABEL_PAD = 4;
/** Least height (CSS pixels) of a highlighted hit, so that it stays visible. */
const HIT_LEAST = 4;
export const TICK_SPACING = 96;

interface Label {
  row: SliceRow;
  index: number;
  y: number;
  section: Section;
  lookup: Lookup;
}

/** What a frame is drawn on. */
interface Sheet {
  image: ImageData;
  picture: Picture;
  ratio: number;
  /** Of the bars of a row, and of the hits of a search among them. */
  bars: Line;
  hits: Line;
}

export class RowPainter {
  private sheet: Sheet | null = null;
  private readonly lookups = new Lookups();
  private readonly fitter: TextFitter;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.fitter = new TextFitter(context);
  }

  paint(scene: Scene): void {
    const width = Math.round(timeWidth(scene) * scene.ratio);
    const height = Math.round(scene.height * scene.ratio);
    if (width <= 0 || height <= 0) return;
    const sheet = this.sheetOf(width, height, scene.ratio);
    const blank = blankLine(scene, width);
    sheet.picture.stampLine(blank, 0, height);
    const labels: Label[] = [];
    for (const section of sections(scene)) this.paintSection(scene, section, sheet, blank, labels);
    this.context.putImageData(sheet.image, Math.round(scene.gutter * scene.ratio), 0);
    this.context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
    paintStepLines(this.context, scene);
    this.paintCounters(scene);
    this.paintLabels(scene, labels);
  }

  forgetWidths(): void {
    this.fitter.forget();
  }

  private sheetOf(width: number, height: number, ratio: number): Sheet {
    const { sheet } = this;
    if (sheet?.image.width === width && sheet.image.height === height && sheet.ratio === ratio) return sheet;
    const image = new ImageData(width, height);
    const line = () => newLine(0, 1, width, LABEL_FROM * ratio);
    const picture = new Picture(new Uint32Array(image.data.buffer), width);
    this.sheet = { image, picture, ratio, bars: line(), hits: line() };
    return this.sheet;
  }

  private paintSection(scene: Scene, section: Section, sheet: Sheet, blank: Uint32Array, labels: Label[]): void {
    const { ratio, theme, caches } = scene;
    const { picture } = sheet;
    const from = section.top - section.shift;
    const to = section.bottom - section.shift;
    const clipped = (y: number) => Math.round(Math.min(Math.max(y, section.top), section.bottom) * ratio);
    const band = new Uint32Array(blank.length).fill(pixelOf(theme.bandPixels));
    for (const item of itemsOf(section)) {
      if (item.kind !== "process") continue;
      const y = item.y + section.shift;
      picture.stampLine(band, clipped(y), clipped(y + item.height));
    }
    const pending = new Uint32Array(blank.length).fill(pixelOf(mix(theme.surface, theme.textColour, 0.03)));
    const grain = Math.max(Math.round(ratio), 1);
    const bars = { line: sheet.bars, steps: { grain, least: 0 } };
    const hits = { line: sheet.hits, steps: { grain, least: HIT_LEAST * grain } };
    const edges: [number, number] = [clipped(section.top), clipped(section.bottom)];
    for (const bar of barsIn(section.items, from, to)) {
      const y = bar.y + section.shift;
      const place: [number, number] = [Math.round(y * ratio), Math.round((y + BAR) * ratio)];
      const isSearched = scene.needle !== "" && !isDerivedTrack(bar.item.thread.track);
      const found = this.drawBars(scene, caches.slices, bar, bars.line, isSearched);
      const lit = isSearched ? (this.drawBars(scene, caches.hits, bar, hits.line, false) ?? []) : [];
      picture.stampColumns(found ? blank : pending, isSearched ? [hits, bars] : [bars], place, edges);
      const litIds = new Set(lit.map(({ row, index }) => row.id[index]));
      const unlit = (found ?? []).filter(({ row, index }) => !litIds.has(row.id[index]));
      for (const label of [...unlit, ...lit]) labels.push({ ...label, y, section });
    }
  }

  /** Draws the loaded bars of a row on `line`. Returns the bars wide enough for a label; null if nothing is loaded. */
  private drawBars(
    scene: Scene,
    cache: PieceCache<SliceRow>,
    bar: Bar,
    line: Line,
    isDimmed: boolean,
  ): Omit<Label, "y" | "section">[] | null {
    const { start, end } = shownRange(scene);
    clearLine(line, scene.view.start, scene.view.scale / scene.ratio);
    const pieces = cache.pieces(bar.row, start, end, levelOf(line.scale));
    const labels: Omit<Label, "y" | "section">[] = [];
    const colouring = isDerivedTrack(bar.item.thread.track) ? "label" : scene.colours;
    for (const [{ data: row }, begin, stop] of partsOf(pieces, start, end)) {
      const lookup = this.lookups.get(row, bar.item.process, scene, isDimmed, colouring);
      const column = (time: number) =>
        Math.min(Math.max(Math.ceil((time - line.start) / line.scale), 0), line.fill.length);
      line.wide = [];
      drawRow(row, line, lookup, column(begin), column(stop));
      for (const index of line.wide) labels.push({ row, index, lookup });
    }
    return pieces.length > 0 ? labels : null;
  }

  private paintCounters(scene: Scene): void {
    for (const { item, section } of itemsInSight(scene)) {
      const isCounter = item.kind === "track" && item.thread.kind === "counter";
      if (isCounter) paintCounter(this.context, scene, section, item);
    }
  }

  private paintLabels(scene: Scene, labels: readonly Label[]): void {
    const { context } = this;
    const { gutter, view } = scene;
    context.font = LABEL_FONT;
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const section of sections(scene)) {
      context.save();
      clip(context, gutter, section.top, timeWidth(scene), section.bottom - section.top);
      for (const { row, index, y, section: own, lookup } of labels) {
        if (own.top !== section.top) continue;
        const left = Math.max(xAt(view, startOf(row, index)), 0);
        const right = Math.min(xAt(view, endOf(row, index)), timeWidth(scene));
        const name = row.names[row.name[index] as number] ?? "";
        const text = this.fitter.fit(scene.labels.get(name)?.text ?? name, right - left - 2 * LABEL_PAD);
        if (!text) continue;
        fillText(context, labelColour(lookup, row, index), text, gutter + left + LABEL_PAD, y + BAR / 2 + 0.5);
      }
      context.restore();
    }
  }
}

/** An empty line with the grid on it. */
function blankLine(scene: Scene, width: number): Uint32Array {
  const line = new Uint32Array(width).fill(pixelOf(scene.theme.surface));
  const grid = pixelOf(scene.theme.grid);
  for (const tick of ticks(scene.view, timeWidth(scene), TICK_SPACING, scene.zero)) {
    const x = Math.round(tick.x * scene.ratio);
    if (tick.label && x >= 0 && x < width) line[x] = grid;
  }
  return line;
}
