/** Draws the strips in sight, and handles pointer and wheel over them. */

import { effect } from "@preact/signals";
import { percent, shareOf } from "../../../base/format";
import { listen, together } from "../../../base/listen";
import { lang, t } from "../../../i18n";
import { resizeCanvas } from "../../../timeline/surface";
import { partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import type { RankPlace } from "./choice";
import { shiftText } from "./ranks_state";
import { stepsOf } from "./step_differences";
import { type Strip, type StripAnswer, StripLoader, timesIn } from "./strip_data";
import { paintStrips, STRIP_HEIGHT } from "./strip_paint";

/** Smaller shares of a pixel are left out of its tip. */
const LEAST_SHARE = 0.0005;

/** The canvas of the strips in sight. It follows the view of the rows. */
export class StripCanvas {
  readonly loader: StripLoader;
  private box: HTMLElement | null = null;
  private canvas: HTMLCanvasElement | null = null;
  private stop = () => {};

  constructor(private readonly session: TraceSession) {
    this.loader = new StripLoader(
      () => this.draw(),
      (error) => session.fail(error),
    );
  }

  attach(box: HTMLElement, canvas: HTMLCanvasElement): void {
    this.box = box;
    this.canvas = canvas;
    const { session } = this;
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(box);
    const { hover, leave, click, wheel } = this;
    const stopListening = listen(box, { pointermove: hover, pointerleave: leave, click, wheel }, { passive: false });
    const stopDraw = effect(() => {
      session.drawn.value;
      session.ranks.shifts.value;
      session.ranks.shown.value;
      session.search.ticks.value;
      lang.value;
      this.draw();
    });
    this.stop = together([stopDraw, stopListening, () => observer.disconnect()]);
  }

  detach(): void {
    this.stop();
    this.loader.stop();
    this.leave();
    this.box = this.canvas = null;
  }

  /** Places of the strips in sight. */
  private inSight(): { place: RankPlace; y: number }[] {
    const { box, session } = this;
    if (!box) return [];
    const shown = session.ranks.shown.peek();
    const first = Math.floor(box.scrollTop / STRIP_HEIGHT);
    const last = Math.ceil((box.scrollTop + box.clientHeight) / STRIP_HEIGHT);
    return shown.slice(first, last).map((place, at) => ({ place, y: (first + at) * STRIP_HEIGHT - box.scrollTop }));
  }

  draw(): void {
    const { box, canvas, session, loader } = this;
    const scene = session.engine?.scene;
    const context = canvas?.getContext("2d");
    if (!box || !canvas || !scene || !context || scene.height === 0) return;
    const { width, gutter, ratio, view, theme } = scene;
    const height = box.clientHeight;
    resizeCanvas(canvas, width, height, ratio);
    const inSight = this.inSight();
    const strips = inSight.map(({ place, y }) => {
      const strip = loader.answer?.strips.get(place.span);
      const hits = session.search.ticks.peek().get(session.lanes.numberOf(place.span)) ?? [];
      return { y, strip, note: noteOf(strip), steps: stepsOf(session, place.span), hits };
    });
    paintStrips(context, { width, height, gutter, ratio, view, theme, answer: loader.answer, strips, waitText });
    const shares = inSight.map(({ place, y }) => ({ y, text: this.computingShare(place) }));
    context.fillStyle = theme.muted;
    context.textAlign = "right";
    for (const { y, text } of shares) context.fillText(text, gutter - 8, y + STRIP_HEIGHT / 2);
    context.textAlign = "left";
    loader.want({
      spans: inSight.map(({ place }) => place.span),
      zeros: inSight.map(({ place }) => session.ranks.pageZeroOf(place.span, session.base)),
      view,
      width: Math.max(width - gutter, 1),
    });
    box.dataset.ready = loader.isDone ? "yes" : "no";
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

  private placeAt(event: MouseEvent): RankPlace | null {
    const { box } = this;
    if (!box) return null;
    const y = event.clientY - box.getBoundingClientRect().top + box.scrollTop;
    return this.session.ranks.shown.peek()[Math.floor(y / STRIP_HEIGHT)] ?? null;
  }

  private readonly hover = (event: PointerEvent) => {
    const { session, box, loader } = this;
    const place = this.placeAt(event);
    const scene = session.engine?.scene;
    if (!place || !box || !scene) return this.leave();
    const x = event.clientX - box.getBoundingClientRect().left - scene.gutter;
    if (x < 0) return this.leave();
    const time = scene.view.start + x * scene.view.scale;
    const times = this.timesOf(place, time, time + scene.view.scale);
    const help = times ? stripText(place, times, loader.answer, time) : "";
    session.hovered.value = help
      ? {
          bar: null,
          help: [help, shiftText(session.ranks, place.span)].filter(Boolean).join(" · "),
          x: event.clientX,
          y: event.clientY,
        }
      : null;
  };

  private readonly leave = () => (this.session.hovered.value = null);

  private readonly click = (event: MouseEvent) => {
    const place = this.placeAt(event);
    if (place && event.target === this.canvas) this.session.openRank(place);
  };

  private readonly wheel = (event: WheelEvent) => this.session.engine?.wheel(event);
}

function stripText(place: RankPlace, times: readonly number[], answer: StripAnswer | null, time: number): string {
  const whole = sum(times);
  const parts = (answer?.parts ?? []).flatMap((id, at) => {
    const part = times[at] ?? 0;
    return part > whole * LEAST_SHARE ? [`${partTitle("budget", id)} ${shareOf(part, whole)}`] : [];
  });
  const wait = answer?.strips.get(place.span)?.waits.find((one) => one.start <= time && time < one.end);
  const late = wait ? [waitText(wait.rank)] : [];
  return parts.length > 0 ? [place.name, ...parts, ...late].join(" · ") : "";
}

/** "waiting for rank 5". `rank`: a number, or "local 5" inside its group. */
function waitText(rank: string | null): string {
  if (rank === null) return t("trace.ranks.waits");
  return t("trace.ranks.waits_for", { rank: /^\d+$/.test(rank) ? `rank ${rank}` : rank });
}

function noteOf(strip: Strip | undefined): string {
  if (!strip) return "";
  return strip.state === "reading" ? t("trace.ranks.reading") : strip.state === "none" ? t("trace.ranks.no_times") : "";
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
