/** Requests the strips in sight: one request for all of them. */

import { getBinary } from "../../../api/client";
import { Latest } from "../../../base/async";
import type { View } from "../../../timeline/viewport";
import { askOf } from "../ask";
import { covers, decodeStrips, type StripAnswer, windowAround } from "./strip_data";

/** Least time (ms) between two requests, until ranks that are being read are requested again, and after an error. */
const PAUSE_MS = 60;
const READING_MS = 700;
const ERROR_MS = 5000;

/** The strips in sight. `zeros`: of each span, the epoch time (ns) by its clock at time 0 of the page. */
export interface StripRequest {
  spans: readonly string[];
  zeros: readonly string[];
  view: View;
  width: number;
}

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
