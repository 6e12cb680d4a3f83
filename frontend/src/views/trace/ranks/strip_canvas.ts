/** Draws the strips in sight, and handles pointer and wheel over them. */

import { effect, signal } from "@preact/signals";
import { duration, percent, shareOf } from "../../../base/format";
import { together } from "../../../base/listen";
import { lang, t } from "../../../i18n";
import { originOf } from "../../../timeline/decode";
import { laneOfTrack } from "../../../timeline/lanes";
import type { Area, Range } from "../../../timeline/scene";
import { resizeCanvas } from "../../../timeline/surface";
import { partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import type { RankPlace } from "./choice";
import { shiftText } from "./ranks_state";
import { stepsOf, stepTime } from "./step_differences";
import { MOST_STRIPS, type Strip, type StripAnswer, StripLoader, type StripWait, timesIn } from "./strip_data";
import { itemsBetween, LABEL_STEP, type StripItem } from "./strip_layout";
import { paintArea, paintChain, paintPart, paintStrips, type WaitChain } from "./strip_paint";
import { StripPointer } from "./strip_pointer";

/** Smaller shares of a pixel are left out of its tip. */
const LEAST_SHARE = 0.0005;

/** The canvas of the strips in sight. It follows the view of the rows. */
export class StripCanvas {
  readonly loader: StripLoader;
  /** What is in sight, px from the top of all strips. */
  readonly sight = signal({ top: 0, bottom: 0 });
  private box: HTMLElement | null = null;
  private canvas: HTMLCanvasElement | null = null;
  private pointer: StripPointer | null = null;
  private stop = () => {};
  /** The wait under the pointer. */
  private pointed: { span: string; wait: StripWait } | null = null;

  constructor(private readonly session: TraceSession) {
    this.loader = new StripLoader(
      () => {
        this.draw();
        this.pointer?.look();
      },
      (error) => session.fail(error),
    );
  }

  attach(box: HTMLElement, canvas: HTMLCanvasElement): void {
    this.box = box;
    this.canvas = canvas;
    const { session } = this;
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(box);
    this.pointer = new StripPointer(session, box, this);
    const stopListening = this.pointer.listen();
    const stopDraw = effect(() => {
      session.drawn.value;
      session.part.value;
      session.area.area.value;
      session.ranks.shifts.value;
      session.ranks.layout.value;
      session.search.ticks.value;
      lang.value;
      this.draw();
    });
    this.stop = together([stopDraw, stopListening, () => observer.disconnect()]);
  }

  detach(): void {
    this.stop();
    this.loader.stop();
    this.session.hovered.value = null;
    this.box = this.canvas = null;
  }

  /** The strips in sight, with their tops on the canvas. */
  private inSight(): { item: StripItem; y: number }[] {
    const { box, session } = this;
    if (!box) return [];
    const [top, bottom] = [box.scrollTop, box.scrollTop + box.clientHeight];
    const before = this.sight.peek();
    if (before.top !== top || before.bottom !== bottom) this.sight.value = { top, bottom };
    return itemsBetween(session.ranks.layout.peek().items, top, bottom)
      .flatMap((item) => (item.kind === "rank" ? [{ item, y: item.y - top }] : []))
      .slice(0, MOST_STRIPS);
  }

  draw(): void {
    const { box, canvas, session, loader } = this;
    const scene = session.engine?.scene;
    const context = canvas?.getContext("2d");
    if (!box || !canvas || !scene || !context || scene.height === 0) return;
    const { width, gutter, ratio, view, theme } = scene;
    const height = box.clientHeight;
    resizeCanvas(canvas, width, height, ratio);
    box.style.setProperty("--gutter", `${gutter}px`);
    const inSight = this.inSight();
    const strips = inSight.map(({ item: { place, height }, y }) => {
      const strip = loader.answer?.strips.get(place.span);
      const hits = session.search.ticks.peek().get(session.lanes.numberOf(place.span)) ?? [];
      return { y, height, strip, note: noteOf(strip), steps: stepsOf(session, place.span), hits };
    });
    const stripScene = { width, height, gutter, ratio, view, theme, answer: loader.answer, strips, waitTexts };
    paintStrips(context, stripScene);
    const { area } = scene;
    if (area)
      paintArea(
        context,
        stripScene,
        area,
        strips.filter((_, at) => this.covers(area, inSight[at]?.item)),
      );
    const part = session.part.peek();
    const picked = inSight.find(({ item }) => item.place.span === part?.span);
    if (part && picked) paintPart(context, stripScene, part, { y: picked.y, height: picked.item.height });
    const chain = this.chain();
    if (chain) paintChain(context, stripScene, chain);
    context.fillStyle = theme.muted;
    context.textAlign = "right";
    for (const { item, y } of inSight) {
      const middle = y + Math.max(item.height, LABEL_STEP) / 2;
      if (item.isLabelled) context.fillText(this.computingShare(item.place), gutter - 8, middle);
    }
    context.textAlign = "left";
    const spans = inSight.map(({ item }) => item.place.span);
    const zeros = spans.map((span) => session.ranks.pageZeroOf(span, session.base));
    if (spans.length > 0) loader.want({ spans, zeros, view, width: Math.max(width - gutter, 1) });
    box.dataset.ready = spans.length === 0 || loader.isDone ? "yes" : "no";
  }

  /** Whether an area covers a strip: one over rows, those of their ranks. */
  private covers({ lanes, tracks }: Area, item: StripItem | undefined): boolean {
    const number = this.session.lanes.numberOf(item?.place.span ?? "");
    return (lanes ?? tracks?.map(laneOfTrack))?.includes(number) !== false;
  }

  /** Share of computing in the view; "" if unknown. */
  private computingShare(place: RankPlace): string {
    const times = this.timesOf(place);
    const whole = times ? sum(times) : 0;
    return times && whole > 0 ? percent((((times[0] ?? 0) + (times[1] ?? 0)) / whole) * 100, 0) : "";
  }

  private timesOf(place: RankPlace, from?: number, to?: number): number[] | null {
    const { answer } = this.loader;
    const strip = answer?.strips.get(place.span);
    const { engine } = this.session;
    if (!answer || strip?.state !== "ready" || !engine) return null;
    const { start, end } = engine.shown;
    return timesIn(answer, strip, from ?? start, to ?? end);
  }

  hover(item: StripItem | null, time: number, event: PointerEvent): void {
    const { session, loader } = this;
    const scale = session.engine?.scene.view.scale ?? 0;
    const times = item && this.timesOf(item.place, time, time + scale);
    const wait = item && this.waitAt(item.place.span, time);
    const help = times ? stripText(session.lanes.nameOf(item.place), times, loader.answer, wait) : "";
    const texts = [help, item ? shiftText(session.ranks, item.place.span) : ""].filter(Boolean);
    session.hovered.value = help ? { bar: null, help: texts.join(" · "), x: event.clientX, y: event.clientY } : null;
    const pointed = wait ? { span: item.place.span, wait } : null;
    if (pointed?.wait === this.pointed?.wait) return;
    this.pointed = pointed;
    this.draw();
  }

  /** Selects the wait at a time; elsewhere the step, or what is in sight. */
  select({ place: { span } }: StripItem, time: number): void {
    const { session } = this;
    const range = this.waitAt(span, time) ?? this.stepAt(span, time) ?? session.engine?.shown;
    if (range) session.pickPart({ span, start: Math.floor(range.start), end: Math.ceil(range.end) });
  }

  private waitAt(span: string, time: number): StripWait | null {
    const waits = this.loader.answer?.strips.get(span)?.waits ?? [];
    return waits.find((one) => one.start <= time && time < one.end) ?? null;
  }

  private stepAt(span: string, time: number): Range | null {
    const { ranks, base } = this.session;
    const data = ranks.isOther(span) ? ranks.otherBase.value : ranks.base.value;
    const zero = originOf(data, ranks.zeroOf(span, base)) + ranks.shiftOf(span);
    const steps = (ranks.lineOf(span)?.steps ?? []).map((step) => ({
      start: step.start + zero,
      end: step.start + zero + stepTime(step),
    }));
    return steps.find(({ start, end }) => start <= time && time < end) ?? null;
  }

  /** The wait under the pointer, else the selected one, with the tops of the strips that it leads to. */
  private chain(): WaitChain | null {
    const { session, pointed, box } = this;
    const part = session.part.peek();
    const chosen = part && this.waitAt(part.span, (part.start + part.end) / 2);
    const found = pointed ?? (part && chosen ? { span: part.span, wait: chosen } : null);
    if (!found || !box) return null;
    const { span, wait } = found;
    const { ranks } = session;
    const spans = [span, ...[wait.via, wait.rank].flatMap((rank) => ranks.placeOf(rank, span)?.span ?? [])];
    const items = ranks.layout.peek().items;
    const strips = spans.flatMap((one) => {
      const item = items.find((item) => item.kind === "rank" && item.place.span === one);
      return item ? [{ y: item.y - box.scrollTop, height: item.height }] : [];
    });
    return strips.length > 1 ? { wait, strips } : null;
  }
}

function stripText(name: string, times: readonly number[], answer: StripAnswer | null, wait: StripWait | null): string {
  const whole = sum(times);
  const parts = (answer?.parts ?? []).flatMap((id, at) => {
    const part = times[at] ?? 0;
    return part > whole * LEAST_SHARE ? [`${partTitle("budget", id)} ${shareOf(part, whole)}`] : [];
  });
  const late = wait ? waitTexts(wait).slice(0, 1) : [];
  return parts.length > 0 ? [name, ...late, ...parts].join(" · ") : "";
}

/** "waits for rank 5 · 50.9 ms", and shorter forms. */
function waitTexts({ start, end, rank }: StripWait): string[] {
  const who = rank === null ? t("trace.ranks.waits") : t("trace.ranks.waits_for", { rank: rankName(rank) });
  return [`${who} · ${duration(end - start)}`, who, ...(rank === null ? [] : [rankName(rank)])];
}

/** `rank`: a number, or "local 5" inside its group. */
export function rankName(rank: string): string {
  return /^\d+$/.test(rank) ? `rank ${rank}` : rank;
}

function noteOf(strip: Strip | undefined): string {
  if (!strip) return "";
  return strip.state === "reading" ? t("trace.ranks.reading") : strip.state === "none" ? t("trace.ranks.no_times") : "";
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
