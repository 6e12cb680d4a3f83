/** The strips of a run whose open rank has no trace: they are made of kernels. */

import { useMemo } from "preact/hooks";
import type { TraceJson, TraceRanksJson, ViewJson } from "../../api/types.gen";
import { useView, type ViewState } from "../../state/use_view";
import { ViewFrame } from "../../widgets";
import type { ViewProps } from "../view";
import { TraceTimeline } from "./trace_timeline";

interface Props extends ViewProps {
  /** The answer to the view of the trace: "missing". */
  view: ViewState<TraceJson>;
  answer: ViewJson;
}

export function StripsOnly({ view, answer, selection: { run, span } }: Props) {
  const ranks = useView<TraceRanksJson>("trace_ranks", { run, span });
  const found = ranks.data && withoutRows(ranks.data, span);
  const first = useMemo(() => found && { data: found, base: ranks.answer?.base_ns ?? "0" }, [span, found !== null]);
  if (!first) return <ViewFrame view={view}>{() => null}</ViewFrame>;
  return (
    <div class="view-frame" data-state="ready">
      <TraceTimeline
        key={span}
        span={span}
        data={first.data}
        answer={{ ...answer, base_ns: first.base }}
        onStale={() => {}}
      />
    </div>
  );
}

/** A trace without rows in the time of a rank that has a strip; null if it has none, or is alone. */
function withoutRows({ lines, period }: TraceRanksJson, span: string): TraceJson | null {
  const line = lines.find((one) => one.span === span);
  if (lines.length < 2 || !line || line.start === null || line.end === null) return null;
  const { start, end } = line;
  const ends = [...line.steps.slice(1).map((step) => step.start), end];
  return {
    version: "",
    partial: null,
    zero: start,
    utc_offset_minutes: 0,
    processes: [],
    start,
    end,
    slices_start: start,
    slices_end: end,
    steps: line.steps.map((step, at) => ({ step: step.step, start: step.start, end: ends[at] as number })),
    period,
    events: 0,
    slices: 0,
    flow_kinds: [],
    scanner: "",
    source: "",
  };
}
