/** The strips of the chosen ranks, between the ruler and the rows of the open rank. */

import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TraceRanksJson } from "../../../api/types.gen";
import { percent, shareOf } from "../../../base/format";
import { lang, t } from "../../../i18n";
import { theme } from "../../../state/theme";
import { useView } from "../../../state/use_view";
import { resizeCanvas } from "../../../timeline/surface";
import { partColor, partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import type { RankPlace } from "./choice";
import { shiftText } from "./shift_text";
import { type Strip, type StripAnswer, timesIn } from "./strip_data";
import { StripLoader } from "./strip_loader";
import { paintStrips, readStripTheme, STRIP_HEIGHT, type StripTheme } from "./strip_paint";

/** Loads what is known of the ranks of the run. */
export function useRanks({ ranks, span }: TraceSession): void {
  const view = useView<TraceRanksJson>("trace_ranks", { run: ranks.run, span });
  useEffect(() => {
    if (!view.data || !view.answer) return;
    ranks.base.value = view.answer.base_ns;
    ranks.data.value = view.data;
  }, [view.data]);
}

export function RankStrips({ session }: { session: TraceSession }) {
  return session.ranks.shown.value.length > 0 ? <Strips session={session} /> : null;
}

function Strips({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const shown = ranks.shown.value;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const strips = useMemo(() => new StripCanvas(session), []);
  useRanks(session);
  useEffect(() => {
    if (!box.current || !canvas.current) return;
    strips.attach(box.current, canvas.current);
    return () => strips.detach();
  }, []);
  const known = ranks.data.value;
  useEffect(() => strips.loader.renew(), [known]);
  return (
    <div class="rank-strips-frame">
      <Legend />
      <div ref={box} class="rank-strips" data-ready="no" onScroll={() => strips.draw()}>
        <div style={{ height: `${shown.length * STRIP_HEIGHT}px` }}>
          <canvas ref={canvas} class="rank-strips-canvas" />
          {shown.map((place, at) => (
            <RankName key={place.span} session={session} place={place} top={at * STRIP_HEIGHT} />
          ))}
        </div>
      </div>
    </div>
  );
}

/** Opens the rank at the time that the page shows. */
function RankName({ session, place, top }: { session: TraceSession; place: RankPlace; top: number }) {
  const isOpen = place.span === session.span;
  const line = session.ranks.data.value?.lines.find((one) => one.span === place.span);
  const stage = line?.pipeline_stage ? t("trace.ranks.in_stage", { stage: line.pipeline_stage }) : "";
  const isSlow = session.ranks.data.value?.stragglers.includes(place.span);
  const name = line?.rank === null || !line ? place.name : `rank ${line.rank}`;
  const tip = [
    isOpen ? t("trace.ranks.is_open") : t("trace.ranks.open", { name: place.name }),
    shiftText(session.ranks, place.span),
  ];
  return (
    <button
      type="button"
      class={`rank-strip-name ${isOpen ? "open" : ""} ${isSlow ? "slow" : ""}`}
      style={{ top: `${top}px`, height: `${STRIP_HEIGHT}px` }}
      aria-current={isOpen}
      data-tip={tip.filter(Boolean).join("\n")}
      onClick={() => session.openRank(place)}
    >
      <span class="ellipsis">
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> <b>{name}</b>{" "}
        <span class="muted small">{isSlow ? t("trace.ranks.straggler") : stage}</span>
      </span>
    </button>
  );
}

const LEGEND = ["computing", "overlapped", "waiting", "communication", "free"] as const;

function Legend() {
  return (
    <div class="rank-strips-legend muted small">
      {LEGEND.map((id) => (
        <span key={id}>
          <span class="swatch" style={{ background: partColor("budget", id) }} /> {partTitle("budget", id)}
        </span>
      ))}
    </div>
  );
}

/** The canvas of the strips in sight. It follows the view of the rows. */
class StripCanvas {
  readonly loader: StripLoader;
  private box: HTMLElement | null = null;
  private canvas: HTMLCanvasElement | null = null;
  private theme: StripTheme | null = null;
  private stopped: (() => void)[] = [];

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
    box.addEventListener("pointermove", this.hover);
    box.addEventListener("pointerleave", this.leave);
    box.addEventListener("click", this.click);
    box.addEventListener("wheel", this.wheel, { passive: false });
    const stopTheme = effect(() => {
      theme.value;
      this.theme = readStripTheme(box);
      this.draw();
    });
    const stopDraw = effect(() => {
      session.drawn.value;
      session.ranks.shifts.value;
      session.ranks.shown.value;
      lang.value;
      this.draw();
    });
    this.stopped = [stopTheme, stopDraw, () => observer.disconnect()];
  }

  detach(): void {
    for (const stop of this.stopped) stop();
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
    const { box, canvas, theme, session, loader } = this;
    const scene = session.engine?.scene;
    const context = canvas?.getContext("2d");
    if (!box || !canvas || !theme || !scene || !context || scene.height === 0) return;
    const { width, gutter, ratio, view } = scene;
    const height = box.clientHeight;
    resizeCanvas(canvas, width, height, ratio);
    const inSight = this.inSight();
    const strips = inSight.map(({ place, y }) => {
      const strip = loader.answer?.strips.get(place.span);
      return { y, strip, note: noteOf(strip) };
    });
    paintStrips(context, { width, height, gutter, ratio, view, theme, answer: loader.answer, strips, waitText });
    const shares = inSight.map(({ place, y }) => ({ y, text: this.computingShare(place) }));
    context.fillStyle = theme.muted;
    context.textAlign = "right";
    for (const { y, text } of shares) context.fillText(text, gutter - 8, y + STRIP_HEIGHT / 2);
    context.textAlign = "left";
    loader.want({
      run: session.ranks.run,
      span: session.span,
      base: session.base,
      spans: inSight.map(({ place }) => place.span),
      shifts: inSight.map(({ place }) => session.ranks.shiftOf(place.span)),
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
    const { view } = engine.scene;
    return timesIn(answer, strip, from ?? view.start, to ?? view.start + view.scale * engine.width);
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

  private readonly leave = () => {
    this.session.hovered.value = null;
  };

  private readonly click = (event: MouseEvent) => {
    const place = this.placeAt(event);
    if (place && !(event.target instanceof HTMLButtonElement)) this.session.openRank(place);
  };

  private readonly wheel = (event: WheelEvent) => {
    const { engine } = this.session;
    engine?.wheel(event);
  };
}

function stripText(place: RankPlace, times: readonly number[], answer: StripAnswer | null, time: number): string {
  const whole = sum(times);
  const parts = (answer?.parts ?? []).flatMap((id, at) => {
    const part = times[at] ?? 0;
    return part > 0.5 ? [`${partTitle("budget", id)} ${shareOf(part, whole)}`] : [];
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
