import { computed, signal } from "@preact/signals";
import { type ApiError, asApiError, getCatalog, rescan } from "../api/client";
import type { CatalogJson, RunJson, SpanJson, WorkerJson } from "../api/types.gen";
import { Latest } from "../base/async";

/** All results below the logdir; null until the first answer. */
export const catalog = signal<CatalogJson | null>(null);
export const catalogError = signal<ApiError | null>(null);
const request = new Latest();

/** Loads the catalog; `isNew` makes the server scan the logdir again. */
export async function loadCatalog(isNew = false): Promise<void> {
  try {
    const answer = await request.run((signal) => (isNew ? rescan(signal) : getCatalog(signal)));
    if (answer === undefined) return;
    catalog.value = answer;
    catalogError.value = null;
  } catch (error) {
    catalogError.value = asApiError(error);
  }
}

/** A span with its run and worker. */
export interface Place {
  run: RunJson;
  worker: WorkerJson;
  span: SpanJson;
}

/** All spans by id. */
export const places = computed<ReadonlyMap<string, Place>>(() => {
  const found = new Map<string, Place>();
  for (const run of catalog.value?.runs ?? []) {
    for (const worker of run.workers) {
      for (const span of worker.spans) found.set(span.id, { run, worker, span });
    }
  }
  return found;
});

/** Short name of a worker: its rank if known. */
export function workerName(worker: WorkerJson): string {
  return worker.label || (worker.rank === null ? worker.id : `rank ${worker.rank}`);
}
