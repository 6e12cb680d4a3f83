/** The rows of other ranks on the page: which are loaded, and where they are. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError, getView } from "../../../api/client";
import type { ProcessJson, ThreadJson, TraceJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import { param, setParams } from "../../../state/params";
import { originOf } from "../../../timeline/decode";
import { laneOffset } from "../../../timeline/lanes";
import { type RowProcess, trackLabel } from "../../../timeline/rows";
import type { Range } from "../../../timeline/scene";
import type { DerivedRows } from "../derived_rows";
import { KEYS } from "../link/link";
import type { RankPlace } from "./choice";
import { placeProcess, type SearchedRank } from "./placement";
import type { RanksState } from "./ranks_state";
import type { LaneTimeline } from "./row_source";

/** Time (ms) until the next try while the server reads the trace of a rank. */
const RETRY_MS = 1000;
/** Time (ms) until the next look whether the offset of a rank is known. */
const PLACE_MS = 100;

/** A rank whose trace is loaded. */
export interface Lane {
  number: number;
  place: RankPlace;
  data: TraceJson;
  /** Epoch time (ns) of its time 0. */
  base: string;
}

export class Lanes {
  /** Loaded ranks, by number. */
  readonly loaded = signal<ReadonlyMap<number, Lane>>(new Map());
  /** Spans of the ranks that are being loaded. */
  readonly loading = signal<ReadonlySet<string>>(new Set());
  /** Spans of the ranks whose rows are unfolded. */
  readonly unfolded: ReadonlySignal<ReadonlySet<string>> = computed(
    () => new Set(param(KEYS.unfolded).split(".").filter(Boolean)),
  );
  /** By span. */
  private readonly requests = new Map<string, Promise<Lane | null>>();
  private isStopped = false;

  /** `base`: epoch time (ns) of time 0 of the page. */
  constructor(
    private readonly ranks: RanksState,
    private readonly base: () => string,
    private readonly derived: DerivedRows,
  ) {}

  stop(): void {
    this.isStopped = true;
  }

  /** Number of a rank on the page: 0 for the open one. */
  numberOf(span: string): number {
    return span === this.ranks.span ? 0 : this.ranks.all.peek().findIndex((place) => place.span === span) + 1;
  }

  /** The timeline of a loaded rank, at its place on the page. */
  timelineOf(number: number): LaneTimeline | null {
    const lane = this.loaded.peek().get(number);
    if (!lane) return null;
    const { place, data, base } = lane;
    return { span: place.span, version: data.version, base, offset: laneOffset(number, this.timeOf(lane)) };
  }

  /** What is added to the times of a rank, ns. */
  timeOf({ base, place }: Lane): number {
    return originOf(base, this.ranks.zeroOf(place.span, this.base())) + this.ranks.shiftOf(place.span);
  }

  /** The rank once it is loaded; null if it cannot be shown. */
  async load(number: number): Promise<Lane | null> {
    const place = this.placeOf(number);
    if (!place) return null;
    const request = this.requests.get(place.span) ?? this.fetch(number, place);
    this.requests.set(place.span, request);
    return request;
  }

  /** Forgets a rank whose files changed, and loads it again. */
  reload(number: number): void {
    this.forget(number);
    void this.load(number);
  }

  /** Forgets ranks of a run that is not compared any more, whose numbers belong to others now. Returns the numbers. */
  forgetGone(): number[] {
    const gone = [...this.loaded.peek().values()].filter(({ number, place }) => !this.isAt(number, place));
    for (const { number } of gone) this.forget(number);
    return gone.map(({ number }) => number);
  }

  private forget(number: number): void {
    const loaded = new Map(this.loaded.peek());
    this.requests.delete(loaded.get(number)?.place.span ?? this.placeOf(number)?.span ?? "");
    loaded.delete(number);
    this.loaded.value = loaded;
  }

  private placeOf(number: number): RankPlace | undefined {
    return this.ranks.all.peek()[number - 1];
  }

  private isAt(number: number, { span }: RankPlace): boolean {
    return this.placeOf(number)?.span === span;
  }

  /** Whether the rows of a shown rank are unfolded. */
  isUnfolded(span: string): boolean {
    return this.unfolded.value.has(span) && this.ranks.shown.value.some((place) => place.span === span);
  }

  /** Shows or hides the rows of a rank below those of the open one. */
  toggle(span: string, isUnfolded = !this.unfolded.peek().has(span)): void {
    const next = new Set(this.unfolded.peek());
    if (isUnfolded) next.add(span);
    else next.delete(span);
    if (next.size !== this.unfolded.peek().size) setParams({ [KEYS.unfolded]: [...next].join(".") });
  }

  /** The track of a rank with the name of a thread; null without one. `open`: processes of the open rank. */
  async sameTrack(
    span: string,
    process: string,
    thread: ThreadJson,
    open: readonly ProcessJson[],
  ): Promise<number | null> {
    const number = this.numberOf(span);
    const lane = number === 0 ? null : await this.load(number);
    const processes = number === 0 ? open : lane ? this.derived.addTo(lane.data, span).processes : [];
    const found = processes
      .filter(({ name }) => name === process)
      .flatMap(({ threads }) => threads)
      .find((one) => one.kind === thread.kind && trackLabel(one) === trackLabel(thread));
    return found ? found.track + laneOffset(number, 0).track : null;
  }

  /** The processes of all ranks on the page: those of the open rank first. `open`: of the open one. */
  processes(open: readonly RowProcess[]): RowProcess[] {
    const lanes = [...this.loaded.value.values()].sort((a, b) => a.number - b.number);
    const own = this.ownPlace();
    const rankPlace = this.placeNumber(this.ranks.span);
    if (lanes.length === 0) return open.map((process) => ({ ...process, rankPlace }));
    const others = lanes.flatMap(({ number, place, data }) =>
      this.derived.addTo(data, place.span).processes.map((process) => ({
        ...placeProcess(process, place.span, laneOffset(number, 0)),
        rank: this.nameOf(place),
        rankPlace: this.placeNumber(place.span),
        isHidden: !this.isUnfolded(place.span),
      })),
    );
    return [...open.map((process) => (own ? { ...process, rank: this.nameOf(own), rankPlace } : process)), ...others];
  }

  /** Name of a rank by its number. */
  rankOf(number: number): string {
    const place = number === 0 ? this.ownPlace() : this.ranks.all.value[number - 1];
    return place ? this.nameOf(place) : "";
  }

  /** Place of a rank among all, for its colour. */
  private placeNumber(span: string): number {
    return Math.max(
      this.ranks.all.value.findIndex((place) => place.span === span),
      0,
    );
  }

  /** Numbers of the loaded ranks whose rows are below those of the open one. */
  below(): number[] {
    return [...this.loaded.value.values()]
      .filter(({ place }) => this.isUnfolded(place.span))
      .map(({ number }) => number);
  }

  /** The shown ranks beside the open one, loaded or not, as a search asks for them. */
  beside(): SearchedRank[] {
    return this.ranks.shown.value.filter(({ span }) => span !== this.ranks.span).map((place) => this.asked(place));
  }

  /** All other ranks of the run of a rank on the page, loaded or not, by its number. */
  peersOf(number: number): SearchedRank[] {
    const run = number === 0 ? this.ranks.run : this.placeOf(number)?.run;
    const peers = this.ranks.all.value.filter((place) => place.run === run && this.numberOf(place.span) !== number);
    return peers.map((place) => this.asked(place));
  }

  private asked({ span }: RankPlace): SearchedRank {
    const { ranks } = this;
    const zero = ranks.isPlaced(span) ? ranks.pageZeroOf(span, this.base()) : null;
    return { lane: this.numberOf(span), span, version: "", zero };
  }

  private ownPlace(): RankPlace | undefined {
    return this.ranks.all.value.find(({ span }) => span === this.ranks.span);
  }

  /** "rank 5", or the name of the worker; "B rank 5" of the other run. */
  nameOf({ span, name }: RankPlace): string {
    const line = this.ranks.lines().find((one) => one.span === span);
    const own = line?.rank === null || !line ? name : `rank ${line.rank}`;
    return this.ranks.isOther(span) ? t("trace.versus.rank", { name: own }) : own;
  }

  /** From the first to the last event of the loaded ranks, ns after `base`; null without one. */
  extent(): Range | null {
    const ranges = [...this.loaded.value.values()].map((lane) => {
      const time = this.timeOf(lane);
      return { start: lane.data.start + time, end: lane.data.end + time };
    });
    if (ranges.length === 0) return null;
    return {
      start: Math.min(...ranges.map(({ start }) => start)),
      end: Math.max(...ranges.map(({ end }) => end)),
    };
  }

  private async fetch(number: number, place: RankPlace): Promise<Lane | null> {
    this.loading.value = new Set([...this.loading.peek(), place.span]);
    try {
      const found = await this.wait(place.span);
      while (!this.isStopped && this.isAt(number, place) && !this.ranks.isPlaced(place.span)) await sleep(PLACE_MS);
      if (!this.isAt(number, place)) {
        this.requests.delete(place.span);
        return null;
      }
      const lane = found && { number, place, ...found };
      if (lane) this.loaded.value = new Map([...this.loaded.peek(), [number, lane]]);
      else this.toggle(place.span, false);
      return lane;
    } finally {
      this.loading.value = new Set([...this.loading.peek()].filter((span) => span !== place.span));
    }
  }

  /** The whole trace of a rank; null if it has none that can be read. */
  private async wait(span: string): Promise<Pick<Lane, "data" | "base"> | null> {
    while (!this.isStopped) {
      try {
        const answer = await getView("trace", { span });
        if (answer.state === "ready") return { data: answer.data as unknown as TraceJson, base: answer.base_ns };
        if (answer.state !== "reading") return null;
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 503)) return null;
      }
      await sleep(RETRY_MS);
    }
    return null;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
