/** Answers of /api/timeline/strips: the time of each part before any moment. */

import { getBinary } from "../../../api/client";
import type { PARTS } from "../../../api/types.gen";
import { Latest } from "../../../base/async";
import { parseFrame } from "../../../timeline/decode";
import type { View } from "../../../timeline/viewport";
import { askOf } from "./placement";

export type PartId = keyof (typeof PARTS)["budget"];

/** A wait for a late rank. Times are those of the page. `via`: the rank that is awaited directly, if it waits for `rank` in turn. */
export interface StripWait {
  start: number;
  end: number;
  rank: string | null;
  via: string | null;
}

export interface Strip {
  state: "ready" | "reading" | "none";
  waits: StripWait[];
  /** For each part, the time before each edge of the bins, ns. */
  sums: Float64Array[];
}

/** The strips of a window [start, end), ns on the page. */
export interface StripAnswer {
  start: number;
  end: number;
  bins: number;
  parts: PartId[];
  strips: Map<string, Strip>;
}

interface Header {
  t0: number;
  t1: number;
  bins: number;
  unit: number;
  parts: PartId[];
  strips: { span: string; state: Strip["state"]; waits: [number, number, string | null, string | null][] }[];
}

export function decodeStrips(buffer: ArrayBuffer): StripAnswer {
  const frame = parseFrame(buffer);
  const { t0, t1, bins, unit, parts, strips } = frame.header as unknown as Header;
  const found = strips.map(({ span, state, waits }): [string, Strip] => {
    const times = state === "ready" ? frame.u32(span) : null;
    const sums = times ? parts.map((_, part) => sumsOf(times.subarray(part * bins, (part + 1) * bins), unit)) : [];
    const shown = waits.map(([start, end, rank, via]) => ({ start, end, rank, via }));
    return [span, { state, waits: shown, sums }];
  });
  return { start: t0, end: t1, bins, parts, strips: new Map(found) };
}

function sumsOf(times: Uint32Array, unit: number): Float64Array {
  const sums = new Float64Array(times.length + 1);
  for (let bin = 0; bin < times.length; bin++) sums[bin + 1] = (sums[bin] ?? 0) + (times[bin] ?? 0) * unit;
  return sums;
}

/** Time of a part before a moment, ns; inside a bin the part is taken as even. */
export function timeBefore(answer: StripAnswer, sums: Float64Array, time: number): number {
  const place = ((time - answer.start) / (answer.end - answer.start)) * answer.bins;
  const at = Math.min(Math.max(place, 0), answer.bins);
  const bin = Math.min(Math.floor(at), answer.bins - 1);
  const before = sums[bin] ?? 0;
  return before + (at - bin) * ((sums[bin + 1] ?? before) - before);
}

/** Time of each part in [start, end), ns, in the order of `answer.parts`. */
export function timesIn(answer: StripAnswer, strip: Strip, start: number, end: number): number[] {
  return strip.sums.map((sums) => timeBefore(answer, sums, end) - timeBefore(answer, sums, start));
}

/** Part of the view's width that a request covers on each side of it. */
const MARGIN = 0.3;
/** Most bins and strips of a request (server/timeline/ranks.py). */
const MOST_BINS = 4096;
export const MOST_STRIPS = 128;

interface StripWindow {
  start: number;
  end: number;
  bins: number;
}

/** A window around the view with a bin for each pixel. Bins are whole ns, so that their edges are exact. */
export function windowAround(view: View, width: number): StripWindow {
  const shown = view.scale * width;
  const step = binOf(view, width);
  const start = Math.floor(view.start - shown * MARGIN);
  const bins = Math.max(1, Math.ceil((view.start + shown * (1 + MARGIN) - start) / step));
  return { start, end: start + bins * step, bins };
}

/** Width of a bin for a view, ns. */
function binOf({ scale }: View, width: number): number {
  return Math.max(1, Math.ceil(scale), Math.ceil((scale * width * (1 + 2 * MARGIN) + 1) / (MOST_BINS - 1)));
}

/** Whether an answer shows a view as sharply as its own request would. */
export function covers({ start, end, bins }: StripWindow, view: View, width: number): boolean {
  const isWithin = start <= view.start && view.start + view.scale * width <= end;
  return isWithin && (end - start) / bins <= binOf(view, width);
}

/** Least time (ms) between two requests, until ranks that are being read are requested again, and after an error. */
const PAUSE_MS = 60;
const READING_MS = 700;
const ERROR_MS = 5000;

/** The strips in sight. `zeros`: of each span, the epoch time (ns) by its clock at time 0 of the page. */
interface StripRequest {
  spans: readonly string[];
  zeros: readonly string[];
  view: View;
  width: number;
}

/** Requests the strips in sight: one request for all of them. */
export class StripLoader {
  answer: StripAnswer | null = null;
  private wanted: StripRequest | null = null;
  /** What `answer` was requested for, besides the window. */
  private key = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly latest = new Latest();

  constructor(
    private readonly loaded: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  want(request: StripRequest): void {
    this.wanted = request;
    if (this.timer === undefined && !this.isLoaded(request)) this.later(PAUSE_MS);
  }

  /** Whether the newest answer shows what was requested last. */
  get isDone(): boolean {
    return this.wanted === null || this.isLoaded(this.wanted);
  }

  /** Requests the same again: other ranks are read, so that waits may have changed. */
  renew(): void {
    this.key = "";
    if (this.wanted) this.want(this.wanted);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.latest.cancel();
  }

  private isLoaded(request: StripRequest): boolean {
    return this.answer !== null && this.key === keyOf(request) && covers(this.answer, request.view, request.width);
  }

  private later(ms: number): void {
    this.timer = setTimeout(() => void this.load(), ms);
  }

  private async load(): Promise<void> {
    const request = this.wanted;
    if (!request || request.spans.length === 0) {
      this.timer = undefined;
      return;
    }
    const { start, end, bins } = windowAround(request.view, request.width);
    const sources = request.spans.map((span, at) => ({ span, zero: request.zeros[at] ?? "" }));
    const query = askOf("strips", sources, { t0: start, t1: end, bins });
    try {
      const buffer = await this.latest.run((signal) => getBinary(...query, signal));
      if (!buffer) return;
      this.answer = decodeStrips(buffer);
      this.key = keyOf(request);
      this.loaded();
      this.timer = undefined;
      const isReading = [...this.answer.strips.values()].some((strip) => strip.state === "reading");
      if (isReading) {
        this.key = "";
        this.later(READING_MS);
      } else if (this.wanted && !this.isLoaded(this.wanted)) this.later(PAUSE_MS);
    } catch (error) {
      this.timer = setTimeout(() => {
        this.timer = undefined;
      }, ERROR_MS);
      this.failed(error);
    }
  }
}

function keyOf({ spans, zeros }: StripRequest): string {
  return [...spans, ...zeros].join(" ");
}
