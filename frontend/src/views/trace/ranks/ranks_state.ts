/** The ranks of the run beside the open one: which are shown, how they are aligned, and what is known of them. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { RunJson, TraceRankJson, TraceRanksJson } from "../../../api/types.gen";
import { duration } from "../../../base/format";
import { toggled } from "../../../base/search";
import { type Period, t, tOf } from "../../../i18n";
import { catalog, places } from "../../../state/catalog";
import { param, setParams } from "../../../state/params";
import { originOf } from "../../../timeline/decode";
import type { Range } from "../../../timeline/scene";

import { KEYS } from "../link/link";
import {
  type Alignment,
  formatAlignment,
  formatOffsets,
  parseAlignment,
  parseOffsets,
  type Shift,
  shiftsOf,
  shiftsOfOther,
} from "./alignment";
import { firstChoice, formatChoice, isSameRank, pairedRanks, parseChoice, type RankPlace, ranksOf } from "./choice";
import { stepPairs } from "./step_differences";
import {
  type Grouping,
  groupings,
  type KnownRanks,
  layOutStrips,
  SORTS,
  type Sort,
  type StripLayout,
} from "./strip_layout";

export class RanksState {
  /** What is known of the ranks; null until it is loaded. Times are ns after `base`. */
  readonly data = signal<TraceRanksJson | null>(null);
  /** Epoch time (ns) of time 0 of `data`. */
  readonly base = signal("0");
  /** The run that is compared with the open one; null without one. */
  readonly otherRun: ReadonlySignal<RunJson | null>;
  /** The same as `data` and `base` of the other run. */
  readonly otherData = signal<TraceRanksJson | null>(null);
  readonly otherBase = signal("0");
  /** Steps of both runs compared. */
  readonly steps = computed(() =>
    this.data.value && this.otherData.value ? stepPairs(this.data.value, this.otherData.value) : [],
  );
  /** All ranks of the run, then those of the other run. */
  readonly all: ReadonlySignal<RankPlace[]>;
  /** The ranks that are shown, from the top. */
  readonly shown: ReadonlySignal<RankPlace[]>;
  /** Ways to group the shown ranks, and the chosen one: by default the first, once all shown ranks are known. */
  readonly groupings: ReadonlySignal<Grouping[]>;
  readonly grouping: ReadonlySignal<Grouping>;
  readonly sort = computed<Sort>(() => SORTS.find((one) => one === param(KEYS.sort)) ?? "rank");
  readonly foldedGroups = computed<ReadonlySet<string>>(
    () => new Set(param(KEYS.foldedGroups).split("|").filter(Boolean).map(decodeURIComponent)),
  );
  readonly layout: ReadonlySignal<StripLayout>;
  readonly alignment = computed<Alignment>(() => parseAlignment(param(KEYS.align)));
  /** Offsets by hand, ns by span. */
  readonly byHand = computed(() => parseOffsets(param(KEYS.offsets)));
  /** Offsets of the ranks that are read. */
  readonly shifts: ReadonlySignal<ReadonlyMap<string, Shift>>;

  constructor(readonly span: string) {
    const run = computed(() => places.value.get(span)?.run ?? null);
    this.otherRun = computed(() => this.others().find(({ id }) => id === param(KEYS.versus)) ?? null);
    const own = computed(() => (run.value ? ranksOf(run.value, span) : []));
    const others = computed(() => (this.otherRun.value ? ranksOf(this.otherRun.value, "") : []));
    this.all = computed(() => [...own.value, ...others.value]);
    const first = computed(() => firstChoice(own.value, span, this.data.value));
    this.shown = computed(() => parseChoice(param(KEYS.ranks), pairedRanks(own.value, others.value), first.value));
    this.groupings = computed(() => groupings(this.shown.value, this.known()));
    this.grouping = computed(() => {
      const all: Grouping[] = [...this.groupings.value, "none"];
      const isKnown = this.shown.value.every(({ span }) => this.lineOf(span));
      return all.find((one) => one === param(KEYS.grouping)) ?? ((isKnown && all[0]) || "none");
    });
    this.layout = computed(() => {
      const order = { grouping: this.grouping.value, sort: this.sort.value, folded: this.foldedGroups.value };
      return layOutStrips(this.shown.value, this.known(), order);
    });
    this.shifts = computed(() => {
      const [data, other] = [this.data.value, this.otherData.value];
      if (!data) return new Map();
      const how = [span, this.alignment.value, this.byHand.value] as const;
      const shifts = shiftsOf(data, ...how);
      return other ? new Map([...shifts, ...shiftsOfOther(data, other, ...how)]) : shifts;
    });
  }

  /** What the steps are. */
  get period(): Period {
    return this.data.value?.period ?? "step";
  }

  /** From the first to the last device task of the shown ranks, aligned, ns after `base`; null if unknown. */
  extent(base: string): Range | null {
    const origin = originOf(this.base.value, base);
    const shown = new Set(this.shown.value.map(({ span }) => span));
    const lines = this.lines().filter((line) => shown.has(line.span));
    const starts = lines.flatMap(({ span, start }) => (start === null ? [] : [start + origin + this.shiftOf(span)]));
    const ends = lines.flatMap(({ span, end }) => (end === null ? [] : [end + origin + this.shiftOf(span)]));
    return starts.length > 0 ? { start: Math.min(...starts), end: Math.max(...ends) } : null;
  }

  get run(): string {
    return places.value.get(this.span)?.run.id ?? "";
  }

  /** Runs that can be compared with the open one. */
  others(): RunJson[] {
    return (catalog.value?.runs ?? []).filter(({ id, workers }) => id !== this.run && workers.length > 0);
  }

  /** Compares with a run; "": with none. The ranks that are shown stay, with the same ranks of the other run. */
  compare(run: string): void {
    setParams({ [KEYS.versus]: run });
    const own = this.shown.peek().filter((place) => place.run === this.run);
    const shown = own.length > 0 ? own : this.all.peek().filter((place) => place.run === this.run);
    this.show(this.withPairs(shown.map(({ span }) => span)));
  }

  /** Spans, and those of the same ranks of the other run. */
  withPairs(spans: readonly string[]): string[] {
    const own = this.all.peek().filter(({ span }) => spans.includes(span));
    const isPair = (place: RankPlace) => place.run !== this.run && own.some((one) => isSameRank(one, place));
    return [...spans, ...this.all.peek().flatMap((place) => (isPair(place) ? [place.span] : []))];
  }

  isOther(span: string): boolean {
    return this.otherRun.value !== null && places.value.get(span)?.run.id === this.otherRun.value.id;
  }

  /** What is known of the ranks of both runs. */
  lines(): TraceRankJson[] {
    return [...(this.data.value?.lines ?? []), ...(this.otherData.value?.lines ?? [])];
  }

  /** What the strips are ordered by. */
  known(): KnownRanks {
    const [data, other] = [this.data.value, this.otherData.value];
    return {
      lines: this.lines(),
      groups: data?.groups ?? [],
      stragglers: new Set([...(data?.stragglers ?? []), ...(other?.stragglers ?? [])]),
      parts: data?.parts ?? [],
    };
  }

  lineOf(span: string): TraceRankJson | undefined {
    return this.lines().find((line) => line.span === span);
  }

  /** The shown rank that has a number in the run of a span. */
  placeOf(rank: string | null, beside: string): RankPlace | undefined {
    const run = places.peek().get(beside)?.run.id;
    return this.shown.peek().find((place) => place.run === run && String(place.rank) === rank);
  }

  toggleGroup(key: string): void {
    const folded = [...toggled(this.foldedGroups.peek(), key)];
    setParams({ [KEYS.foldedGroups]: folded.map(encodeURIComponent).join("|") });
  }

  isStraggler(span: string): boolean {
    return [this.data.value, this.otherData.value].some((data) => data?.stragglers.includes(span));
  }

  /** Whether the offset of a rank can be known: of another run it is if both runs are read. */
  isPlaced(span: string): boolean {
    return !this.isOther(span) || (this.data.value !== null && this.otherData.value !== null);
  }

  /** Epoch time (ns) by the clock of a rank at time 0 of the page, whose base is `base`. */
  pageZeroOf(span: string, base: string): string {
    return String(BigInt(this.zeroOf(span, base)) - BigInt(this.shiftOf(span)));
  }

  /** Epoch time (ns) that is at time 0 of the page before the offset is added. `base`: epoch time of the page's time 0. */
  zeroOf(span: string, base: string): string {
    if (!this.isOther(span) || !this.isPlaced(span)) return base;
    return String(BigInt(this.otherBase.value) + BigInt(base) - BigInt(this.base.value));
  }

  /** What is added to the times of a rank, ns; of a rank whose clock is not known, the offset by hand. */
  shiftOf(span: string): number {
    const hand = (this.byHand.value.get(span) ?? 0) - (this.byHand.value.get(this.span) ?? 0);
    return this.shifts.value.get(span)?.ns ?? hand;
  }

  show(spans: Iterable<string>): void {
    setParams({ [KEYS.ranks]: formatChoice(new Set(spans), this.all.peek()) });
  }

  align(alignment: Alignment): void {
    setParams({ [KEYS.align]: formatAlignment(alignment) });
  }

  setOffset(span: string, ns: number): void {
    setParams({ [KEYS.offsets]: formatOffsets(new Map([...this.byHand.peek(), [span, ns]])) });
  }

  clearOffsets(): void {
    setParams({ [KEYS.offsets]: null });
  }
}

/** "offset −8.120 µs ± 1.314 µs"; "" for a rank whose offset is 0 without an estimate. */
export function shiftText({ shifts, byHand, period }: RanksState, span: string): string {
  const shift = shifts.value.get(span);
  if (!shift) return "";
  if (shift.by === "unknown" && !byHand.value.get(span)) return t("trace.align.unknown");
  if (shift.by === "run") return tOf(period, "trace.versus.aligned");
  if (shift.error === null) return shift.ns === 0 ? "" : t("trace.align.offset", { offset: signed(shift.ns) });
  return t("trace.align.offset_error", { offset: signed(shift.ns), error: duration(shift.error) });
}

/** Texts of offsets. */
function signed(ns: number): string {
  return ns > 0 ? `+${duration(ns)}` : duration(ns);
}
