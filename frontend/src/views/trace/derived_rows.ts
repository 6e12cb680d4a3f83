/** The derived rows of the ranks on the page: loaded when their header is unfolded. */

import { signal } from "@preact/signals";
import { ApiError } from "../../api/client";
import type { LayerJson, ProcessJson, ThreadJson, TraceJson } from "../../api/types.gen";
import { t, textOf } from "../../i18n";
import { DERIVED, laneOffset, type SliceLabels } from "../../timeline/lanes";
import type { RowProcess } from "../../timeline/rows";

/** Time (ms) until the next try while the server still reads what the rows need. */
const RETRY_MS = 1000;
/** First track of the derived rows in a lane. */
const FIRST_TRACK = laneOffset(0, 0, "derived").track;
/** Processes that show the work of an NPU. */
const DEVICE = ["Ascend Hardware", "Overlap Analysis"];

/** A reading of a span. */
interface Source {
  span: string;
  version: string;
}

export class DerivedRows {
  readonly labels = signal<SliceLabels>(new Map());
  /** By reading. */
  private readonly found = signal<ReadonlyMap<string, LayerJson>>(new Map());
  private readonly requests = new Map<string, Promise<void>>();

  /** The reading of a span with the derived process: a header, and its rows once they are loaded. */
  addTo(data: TraceJson, span: string): TraceJson {
    const hasDevice = data.processes.some((process) => DEVICE.includes(process.name));
    if (!hasDevice || data.partial !== null) return data;
    const recorded = data.processes.filter((process) => process.pid !== DERIVED);
    const derived = this.found.value.get(keyOf({ span, version: data.version }));
    return { ...data, processes: insertDerived(recorded, processOf(derived)) };
  }

  /** Loads the rows of a reading, once. False if they were loaded before. */
  async load(source: Source, ask: () => Promise<LayerJson>): Promise<boolean> {
    const key = keyOf(source);
    if (this.found.peek().has(key)) return false;
    const request = this.requests.get(key) ?? this.fetch(key, ask);
    this.requests.set(key, request);
    try {
      await request;
      return true;
    } catch (error) {
      if (this.requests.get(key) === request) this.requests.delete(key); // allow a retry
      throw error;
    }
  }

  /** Sets the texts in the current language. */
  translate(): void {
    const labels = [...this.found.peek().values()].flatMap((one) => one.labels);
    this.labels.value = new Map(labels.map((one) => [one.name, { text: textOf(one, "text"), color: one.color }]));
  }

  /** What a row shows; "" for rows of the trace. `track`: in the reading. */
  helpOf(source: Source, track: number): string {
    const row = this.found
      .peek()
      .get(keyOf(source))
      ?.rows.find((one) => FIRST_TRACK + one.track === track);
    return row ? textOf(row, "help") : "";
  }

  private async fetch(key: string, ask: () => Promise<LayerJson>): Promise<void> {
    const derived = await whenRead(ask);
    this.found.value = new Map([...this.found.peek(), [key, derived]]);
  }
}

/** The processes with the derived one: behind the summary of the device, which comes first, or last without one. */
export function insertDerived(processes: readonly RowProcess[], derived: RowProcess): RowProcess[] {
  const at = processes.findIndex((process) => process.name === "Overlap Analysis") + 1 || processes.length;
  return [...processes.slice(0, at), derived, ...processes.slice(at)];
}

function keyOf({ span, version }: Source): string {
  return `${span} ${version}`;
}

function processOf(derived: LayerJson | undefined): ProcessJson {
  const rows =
    derived?.rows.map((row) => ({ ...row, track: FIRST_TRACK + row.track, name: textOf(row, "name") })) ?? [];
  const note = t(derived ? "trace.derived.none" : "trace.derived.loading");
  const label = derived ? "" : t("trace.derived.rows");
  return { name: t("trace.derived"), pid: DERIVED, label, threads: rows.length > 0 ? rows : [emptyRow(note)] };
}

/** A row that only shows its name. */
function emptyRow(name: string): ThreadJson {
  return { track: FIRST_TRACK, name, tid: "", kind: "slices", rows: 0, slices: 0, unit: "", max_value: null };
}

/** Asks again while the server reads what the answer needs. */
export async function whenRead<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 503)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
