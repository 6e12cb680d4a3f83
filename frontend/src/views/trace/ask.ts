/** Questions about timelines (docs/http_api.md). */

import type { Query } from "../../api/client";
import type { LayerId } from "../../timeline/lanes";

/** Rows of a reading, in its own numbers. */
export interface SourceRef {
  span: string;
  /** "": whichever is complete. */
  version?: string;
  layer?: LayerId;
  /** Epoch time (ns) by the clock of the span at time 0 of the question. */
  zero?: string;
  /** Track, first and last depth. */
  rows?: readonly (readonly [number, number, number])[];
  counters?: readonly number[];
  /** Tracks of a range; null: all. */
  tracks?: readonly number[] | null;
}

/** Route and parameters of a request. */
export type Asked = readonly [route: string, query: Query];

/** The request for a question. */
export function askOf(ask: string, sources: readonly SourceRef[], fields: object = {}): Asked {
  return [`timeline/${ask}`, { query: JSON.stringify({ sources, ...fields }) }];
}
