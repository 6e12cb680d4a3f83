/** Converts a reading of a trace to the data of the engine. */

import type { TraceJson } from "../../api/types.gen";
import type { TimelineData } from "../../timeline/data";
import type { SliceLabels } from "../../timeline/derived";
import type { Range } from "../../timeline/scene";
import type { TimelineApi } from "./api";
import type { Reading } from "./selection/migrate_selection";

/** From the start of the first slice to the end of the last. */
export function homeRange(data: TraceJson): Range {
  return { start: data.slices_start ?? data.start, end: data.slices_end ?? data.end };
}

export function timelineData({ data, base }: Reading, labels: SliceLabels, api: TimelineApi): TimelineData {
  return {
    processes: data.processes,
    labels,
    flowKinds: data.flow_kinds,
    limits: { start: data.start, end: data.end },
    beside: null,
    zero: data.zero,
    home: homeRange(data),
    base,
    source: api.source,
  };
}
