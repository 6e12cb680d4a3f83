/** The derived rows of the timeline: loaded when their header is unfolded. */

import { signal } from "@preact/signals";
import { ApiError } from "../../api/client";
import type { DerivedJson, ProcessJson, ThreadJson, TraceJson } from "../../api/types.gen";
import { t, textOf } from "../../i18n";
import { DERIVED, FIRST_DERIVED_TRACK, insertDerived, type SliceLabels } from "../../timeline/derived";
import type { TimelineApi } from "./api";

/** Time (ms) until the next try while the server still reads what the rows need. */
const RETRY_MS = 1000;
/** Processes that show the work of an NPU. */
const DEVICE = ["Ascend Hardware", "Overlap Analysis"];

export class DerivedRows {
  readonly labels = signal<SliceLabels>(new Map());
  private found: DerivedJson | null = null;
  private request: { api: TimelineApi; done: Promise<void> } | null = null;

  /** The reading with the derived process: a header, and its rows once they are loaded. */
  addTo(data: TraceJson): TraceJson {
    const hasDevice = data.processes.some((process) => DEVICE.includes(process.name));
    if (!hasDevice || data.partial !== null) return data;
    const recorded = data.processes.filter((process) => process.pid !== DERIVED);
    return { ...data, processes: insertDerived(recorded, this.process()) };
  }

  /** Loads the rows, once for a reading. */
  async load(api: TimelineApi): Promise<void> {
    if (this.request?.api === api) return this.request.done;
    const request = { api, done: this.fetch(api) };
    this.request = request;
    try {
      await request.done;
    } catch (error) {
      if (this.request === request) this.request = null; // allow a retry
      throw error;
    }
  }

  /** Forgets the rows: they belong to another reading. */
  clear(): void {
    this.found = this.request = null;
  }

  /** Sets the texts in the current language. */
  translate(): void {
    const labels = this.found?.labels ?? [];
    this.labels.value = new Map(labels.map((one) => [one.name, { text: textOf(one, "text"), color: one.color }]));
  }

  /** What a row shows; "" for rows of the trace. */
  helpOf(track: number): string {
    const row = this.found?.rows.find((one) => one.track === track);
    return row ? textOf(row, "help") : "";
  }

  private async fetch(api: TimelineApi): Promise<void> {
    const found = await whenRead(() => api.derived());
    if (this.request?.api === api) this.found = found;
  }

  private process(): ProcessJson {
    const rows = this.found?.rows.map((row) => ({ ...row, name: textOf(row, "name") })) ?? [];
    const note = t(this.found ? "trace.derived.none" : "trace.derived.loading");
    const label = this.found ? "" : t("trace.derived.rows");
    return { name: t("trace.derived"), pid: DERIVED, label, threads: rows.length > 0 ? rows : [emptyRow(note)] };
  }
}

/** A row that only shows its name. */
function emptyRow(name: string): ThreadJson {
  const track = FIRST_DERIVED_TRACK;
  return { track, name, tid: "", kind: "slices", rows: 0, slices: 0, unit: "", max_value: null };
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
