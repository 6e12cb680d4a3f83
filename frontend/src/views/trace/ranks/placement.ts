/** Turns numbers and times of a rank in answers into those of the page. */

import type {
  ChainJson,
  DescentJson,
  FlowJson,
  ProcessJson,
  SliceDetailJson,
  SliceJson,
  TableJson,
} from "../../../api/types.gen";
import type { LaneOffset } from "../../../timeline/lanes";

function placeSlice<T extends Pick<SliceJson, "id" | "track" | "start">>(slice: T, lane: LaneOffset): T {
  return { ...slice, id: slice.id + lane.slice, track: slice.track + lane.track, start: slice.start + lane.time };
}

function placeId(id: number | null, lane: LaneOffset): number | null {
  return id === null ? null : id + lane.slice;
}

function placeTime(time: number | null, lane: LaneOffset): number | null {
  return time === null ? null : time + lane.time;
}

/** `trace`: of the rows that derived ones are made from. */
export function placeDetail(detail: SliceDetailJson, lane: LaneOffset, trace: LaneOffset): SliceDetailJson {
  const { parent, previous, next, derived } = detail;
  return {
    ...placeSlice(detail, lane),
    parent: parent && { ...parent, id: parent.id + lane.slice },
    previous: placeId(previous, lane),
    next: placeId(next, lane),
    derived: derived && {
      ...derived,
      related: derived.related.map((one) => ({ ...one, slice: placeSlice(one.slice, trace) })),
    },
  };
}

export function placeFlow({ kind, from, to }: FlowJson, lane: LaneOffset): FlowJson {
  return { kind, from: placeSlice(from, lane), to: placeSlice(to, lane) };
}

export function placeChain({ links, forward, backward }: ChainJson, lane: LaneOffset): ChainJson {
  return {
    links: links.map((link) => placeSlice(link, lane)),
    forward: forward && placeSlice(forward, lane),
    backward: backward && placeSlice(backward, lane),
  };
}

export function placeDescent(descent: DescentJson, lane: LaneOffset): DescentJson {
  return {
    ...descent,
    nested: placeTable(descent.nested, lane),
    tasks: placeTable(descent.tasks, lane),
    first: placeTime(descent.first, lane),
    last: placeTime(descent.last, lane),
    previous: placeId(descent.previous, lane),
    next: placeId(descent.next, lane),
  };
}

/** A table of slices. */
function placeTable(table: TableJson, lane: LaneOffset): TableJson {
  const added: Record<string, number> = { id: lane.slice, track: lane.track, start: lane.time };
  const data = Object.entries(table.data).map(([key, values]) => {
    const more = added[key];
    return [key, more === undefined ? values : values.map((value) => (value === null ? null : Number(value) + more))];
  });
  return { ...table, data: Object.fromEntries(data) };
}

/** Processes with the tracks of the page. `span` keeps their keys apart from those of other ranks. */
export function placeProcess(process: ProcessJson, span: string, lane: LaneOffset): ProcessJson {
  const threads = process.threads.map((thread) => ({ ...thread, track: thread.track + lane.track }));
  return { ...process, pid: `${span}/${process.pid}`, threads };
}
