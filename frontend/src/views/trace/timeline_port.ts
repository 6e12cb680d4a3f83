/** What the parts of the Trace view use beside each other: the session, without the parts. */

import type { ReadonlySignal, Signal } from "@preact/signals";
import type { TraceJson } from "../../api/types.gen";
import type { Display, Packing } from "../../timeline/display";
import type { TimelineEngine } from "../../timeline/engine";
import type { LayoutState, RowProcess } from "../../timeline/rows";
import type { TimelineApi } from "./api";
import type { DerivedRows } from "./derived_rows";
import type { Lanes } from "./ranks/lanes";
import type { RanksState } from "./ranks/ranks_state";

export type PanelId = "slice" | "rank" | "area" | "hits" | "marks" | "steps";

/** A reading on the page. `first`: number of its track 0. */
export interface PageReading {
  span: string;
  version: string;
  partial: number | null;
  first: number;
}

export interface TimelinePort {
  readonly span: string;
  readonly data: TraceJson;
  /** Epoch time (ns) of time 0. */
  readonly base: string;
  readonly engine: TimelineEngine | null;
  readonly api: TimelineApi;
  readonly layout: Signal<LayoutState>;
  readonly display: Signal<Display>;
  readonly panel: Signal<PanelId>;
  readonly announcement: Signal<string>;
  readonly ranks: RanksState;
  readonly lanes: Lanes;
  readonly derived: DerivedRows;
  /** Processes of all ranks on the page, as recorded, and as their rows show them. */
  readonly recorded: ReadonlySignal<RowProcess[]>;
  readonly processes: ReadonlySignal<RowProcess[]>;
  setLayout(state: LayoutState): void;
  setPacking(packing: Packing, isOn: boolean): void;
  readingOf(lane: number): PageReading | undefined;
  showDerived(): void;
  nameOf(slice: { name: string }): string;
  /** Puts changes into the link; of a jump, as a new entry of the browser's history. */
  save(changes: Record<string, string | null>, isJump?: boolean): void;
  say(text: string): void;
  fail(error: unknown): void;
}
