/** State of the search in the ranks that the page shows: text, hits, and the current hit. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError } from "../../../api/client";
import type { KindHitsJson } from "../../../api/types.gen";
import { Latest } from "../../../base/async";
import { t, textOf } from "../../../i18n";
import { laneOfSlice } from "../../../timeline/lanes";
import type { TimelineApi } from "../api";
import { messageOf } from "../format";
import { KEYS } from "../link/link";
import type { Hit, RankHits } from "../ranks/placement";
import type { Selection } from "../selection/selection";
import type { TimelinePort } from "../timeline_port";

/** Most marks on the overview: a screen has fewer pixels. */
const MOST_MARKS = 4000;
/** The earliest and the latest time of a search. */
const FIRST = Number.MIN_SAFE_INTEGER;
const LAST = Number.MAX_SAFE_INTEGER;

export class SearchState {
  readonly text = signal("");
  readonly total = signal(0);
  /** Loaded hits, by start: those from number `first` on. */
  readonly hits = signal<readonly Hit[]>([]);
  readonly first = signal(0);
  /** Hits by kind of their rows, kernels first. */
  readonly kinds = signal<readonly KindHitsJson[]>([]);
  /** What was found in each rank on the page. */
  readonly ranks = signal<readonly RankHits[]>([]);
  /** Times of the hits of each rank, by its number: all if they are loaded, else thinned by the server. */
  readonly ticks: ReadonlySignal<ReadonlyMap<number, readonly number[]>> = computed(() => {
    const hits = this.hits.value;
    if (hits.length < this.total.value) return new Map(this.ranks.value.map(({ lane, marks }) => [lane, marks]));
    const ticks = new Map<number, number[]>(this.ranks.value.map(({ lane }) => [lane, []]));
    for (const hit of hits) ticks.get(laneOfSlice(hit[0]))?.push(hit[1]);
    return ticks;
  });
  /** Times of the hits of all ranks, thinned for the overview. */
  readonly marks = computed(() => thinned([...this.ticks.value.values()].flat()));
  readonly names = signal<readonly string[]>([]);
  /** Number of the current hit among all; -1: none yet. */
  readonly at = signal(-1);
  readonly busy = signal(false);
  readonly error = signal<unknown>(null);
  private readonly request = new Latest();
  /** Result of the newest `run`. */
  private newest: Promise<boolean> = Promise.resolve(true);

  constructor(private readonly api: () => TimelineApi) {}

  /** Searches; loads the hits around time `near`. False if a newer search replaced it. */
  run(text: string, near = 0): Promise<boolean> {
    this.newest = this.ask(text, near);
    return this.newest;
  }

  private async ask(text: string, near: number): Promise<boolean> {
    this.text.value = text;
    this.error.value = null;
    if (text === "") {
      this.request.cancel();
      this.clear();
      return true;
    }
    this.busy.value = true;
    try {
      const answer = await this.request.run((abort) => this.api().search(text, near, abort));
      if (!answer) return false;
      this.total.value = answer.total;
      this.names.value = answer.names;
      this.first.value = answer.first;
      this.hits.value = answer.hits;
      this.ranks.value = answer.ranks;
      this.kinds.value = answer.kinds;
      this.at.value = -1;
    } catch (error) {
      this.clear();
      this.error.value = error;
    }
    this.busy.value = false;
    return true;
  }

  /** The next (1) or previous (-1) hit, wrapping around; the first call returns the one at or after time `from`. */
  async step(step: 1 | -1, from: number): Promise<Hit | null> {
    // Enter during a search refers to its hits: wait for them.
    if (this.busy.peek() && !(await this.newest)) return null;
    const total = this.total.peek();
    if (total === 0) return null;
    if (this.at.peek() < 0) {
      if (!(await this.bring(from))) return null;
      const next = this.hits.peek().findIndex((hit) => hit[1] >= from);
      const number = next < 0 ? total : this.first.peek() + next;
      return this.show(step === 1 ? number % total : (number || total) - 1);
    }
    return this.show((this.at.peek() + step + total) % total);
  }

  /** Makes slice `id` the current hit, if it is loaded. */
  openSlice(id: number): void {
    this.open(this.hits.peek().findIndex((hit) => hit[0] === id));
  }

  /** The loaded hit at `index`. */
  private open(index: number): Hit | null {
    const hit = this.hits.peek()[index] ?? null;
    if (hit) this.at.value = this.first.peek() + index;
    return hit;
  }

  /** Hit number `number` of all; loads it and its neighbours if necessary. */
  private async show(number: number): Promise<Hit | null> {
    const first = this.first.peek();
    const hits = this.hits.peek();
    let isNewest = true;
    if (number < first) isNewest = await this.run(this.text.peek(), number === 0 ? FIRST : hits[0]?.[1]);
    else if (number >= first + hits.length) {
      const isLast = number === this.total.peek() - 1;
      isNewest = await this.run(this.text.peek(), isLast ? LAST : hits[hits.length - 1]?.[1]);
    }
    return isNewest ? this.open(number - this.first.peek()) : null;
  }

  /** Loads the first hit from time `from` on. False if a newer search replaced it. */
  private async bring(from: number): Promise<boolean> {
    const hits = this.hits.peek();
    const isWhole = hits.length === this.total.peek();
    const [first, last] = [hits[0], hits[hits.length - 1]];
    const isHere = isWhole || (first && last && from >= first[1] && from <= last[1]);
    return isHere || this.run(this.text.peek(), from);
  }

  /** Repeats the search in another reading of the trace, with times offset by `shift`; keeps the current hit. */
  async renew(shift: number): Promise<void> {
    if (this.text.peek() === "") return;
    const hit = this.hits.peek()[this.at.peek() - this.first.peek()];
    const name = hit && this.names.peek()[hit[5]];
    const start = (hit ?? this.hits.peek()[0])?.[1] ?? 0;
    if (!(await this.run(this.text.peek(), hit ? start + shift : 0))) return;
    const same = this.hits.peek().findIndex((one) => one[1] === start + shift && this.names.peek()[one[5]] === name);
    if (hit && same >= 0) this.open(same);
  }

  /** Repeats the search in the ranks that the page shows now; keeps the current hit. */
  async again(): Promise<void> {
    const hit = this.hits.peek()[this.at.peek() - this.first.peek()];
    if ((await this.run(this.text.peek(), hit?.[1] ?? this.hits.peek()[0]?.[1])) && hit) this.openSlice(hit[0]);
  }

  stop(): void {
    this.request.cancel();
  }

  private clear(): void {
    this.total.value = 0;
    this.names.value = [];
    this.hits.value = [];
    this.ranks.value = [];
    this.kinds.value = [];
    this.first.value = 0;
    this.at.value = -1;
    this.busy.value = false;
  }
}

/** At most one time in each of MOST_MARKS equal parts, ascending. */
function thinned(times: readonly number[]): readonly number[] {
  const sorted = Float64Array.from(times).sort();
  const [start, end] = [sorted[0] ?? 0, sorted[sorted.length - 1] ?? 0];
  const width = Math.max((end - start) / MOST_MARKS, 1);
  return [...sorted.filter((time, at) => at === 0 || part(time) !== part(sorted[at - 1] ?? 0))];

  function part(time: number): number {
    return Math.floor((time - start) / width);
  }
}

/** Runs searches and shows their hits. */
export class Finder {
  constructor(
    private readonly port: TimelinePort,
    private readonly search: SearchState,
    private readonly selection: Selection,
  ) {}

  /** Searches; `go`: also shows the first hit after the left edge of the view. */
  async find(text: string, go: boolean): Promise<void> {
    const { port, search } = this;
    const panel = port.panel.peek();
    port.save({ [KEYS.search]: text });
    if (!(await search.run(text, port.engine?.scene.view.start))) return;
    this.show();
    if (text === "" && port.panel.peek() === "hits") port.panel.value = "slice";
    if (search.error.peek()) this.fail(search.error.peek());
    if (text !== "" && go) await this.step(1, panel);
    if (text !== "") port.announcement.value = t("trace.said.hits", { total: search.total.value });
  }

  /** Repeats the search, if there is one, in the ranks that the page shows now. */
  async again(): Promise<void> {
    if (this.search.text.peek() === "") return;
    await this.search.again();
    this.show();
  }

  /** Repeats the search in another reading, whose times are `shift` ns later. */
  async renew(shift: number): Promise<void> {
    await this.search.renew(shift);
    this.show();
  }

  /** Selects the next or previous hit, and shows its details unless the user left `panel` meanwhile. */
  async step(step: 1 | -1, panel = this.port.panel.peek()): Promise<void> {
    const { port, search, selection } = this;
    const hit = await search.step(step, port.engine?.scene.view.start ?? 0);
    this.show();
    const chosen = port.panel.peek();
    if (hit) {
      const selected = selection.select(hit[0], "sight");
      if (chosen !== panel) port.panel.value = chosen;
      await selected;
    } else if (search.error.peek()) this.fail(search.error.peek());
  }

  private show(): void {
    const { text, total, marks } = this.search;
    this.port.engine?.update({ needle: total.peek() > 0 ? text.peek() : "", hits: marks.peek() });
  }

  /** A search with a mistake needs no retry. */
  private fail(error: unknown): void {
    const isMistake = error instanceof ApiError && error.code === "bad_request";
    if (isMistake) this.port.say(`${messageOf(error)} · ${textOf(error, "hint")}`);
    else this.port.fail(error);
  }
}
