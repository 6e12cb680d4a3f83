/** The ranks of the run beside the open one: which are shown, how they are aligned, and what is known of them. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { TraceRanksJson } from "../../../api/types.gen";
import { places } from "../../../state/catalog";
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
} from "./alignment";
import { formatChoice, parseChoice, type RankPlace, ranksOf } from "./choice";

export class RanksState {
  /** What is known of the ranks; null until it is loaded. Times are ns after `base`. */
  readonly data = signal<TraceRanksJson | null>(null);
  /** Epoch time (ns) of time 0 of `data`. */
  readonly base = signal("0");
  /** All ranks of the run. */
  readonly all: ReadonlySignal<RankPlace[]>;
  /** The ranks that are shown. */
  readonly shown: ReadonlySignal<RankPlace[]>;
  readonly alignment = computed<Alignment>(() => parseAlignment(param(KEYS.align)));
  /** Offsets by hand, ns by span. */
  readonly byHand = computed(() => parseOffsets(param(KEYS.offsets)));
  /** Offsets of the ranks that are read. */
  readonly shifts: ReadonlySignal<ReadonlyMap<string, Shift>>;

  constructor(readonly span: string) {
    const run = computed(() => places.value.get(span)?.run ?? null);
    this.all = computed(() => (run.value ? ranksOf(run.value, span) : []));
    this.shown = computed(() => parseChoice(param(KEYS.ranks), this.all.value));
    this.shifts = computed(() =>
      this.data.value ? shiftsOf(this.data.value, span, this.alignment.value, this.byHand.value) : new Map(),
    );
  }

  /** From the first to the last device task of the shown ranks, aligned, ns after `base`; null if unknown. */
  extent(base: string): Range | null {
    const origin = originOf(this.base.value, base);
    const shown = new Set(this.shown.value.map(({ span }) => span));
    const lines = this.data.value?.lines.filter((line) => shown.has(line.span)) ?? [];
    const starts = lines.flatMap(({ span, start }) => (start === null ? [] : [start + origin + this.shiftOf(span)]));
    const ends = lines.flatMap(({ span, end }) => (end === null ? [] : [end + origin + this.shiftOf(span)]));
    return starts.length > 0 ? { start: Math.min(...starts), end: Math.max(...ends) } : null;
  }

  get run(): string {
    return places.value.get(this.span)?.run.id ?? "";
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
