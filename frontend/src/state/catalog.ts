import { computed, signal } from "@preact/signals";
import { type ApiError, asApiError, getCatalog, rescan } from "../api/client";
import type { CatalogJson, RunJson, SpanJson, WorkerJson } from "../api/types.gen";
import { Latest } from "../base/async";

/** Everything that was found below the logdir; null until the first answer. */
export const catalog = signal<CatalogJson | null>(null);
export const catalogError = signal<ApiError | null>(null);
const request = new Latest();

/** Ask for the catalog; `isNew` makes the server look at the logdir again. */
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

/** Where a span stands. */
export interface Place {
  run: RunJson;
  worker: WorkerJson;
  span: SpanJson;
}

/** Every span by its token. */
export const places = computed<ReadonlyMap<string, Place>>(() => {
  const found = new Map<string, Place>();
  for (const run of catalog.value?.runs ?? []) {
    for (const worker of run.workers) {
      for (const span of worker.spans) found.set(span.id, { run, worker, span });
    }
  }
  return found;
});

/** Short name of a worker: its rank where it is known. */
export function workerName(worker: WorkerJson): string {
  return worker.label || (worker.rank === null ? worker.id : `rank ${worker.rank}`);
}
