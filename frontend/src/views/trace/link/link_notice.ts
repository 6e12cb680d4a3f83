/** Notes about items of a link that are not shown. */

import type { TraceJson } from "../../../api/types.gen";
import { t } from "../../../i18n";
import { places, workerName } from "../../../state/catalog";
import { setParams } from "../../../state/params";
import { isDerivedSlice, laneOfSlice, laneOfTrack } from "../../../timeline/lanes";
import { findTrack } from "../../../timeline/rows";
import { KEYS, type LinkState, parseLink } from "./link";
import type { ForeignState } from "./span_state";

export interface Note {
  text: string;
  /** Removed by the user's next action. */
  isPassing: boolean;
  /** The action that the note offers; for an error: retry. */
  action: { label: string; run: () => void; isError?: boolean } | null;
}

const noteOf = (text: string, action: Note["action"] = null): Note => ({ text, isPassing: false, action });

/** Lists the items: "a slice, 2 pinned rows, 3 marks"; "" if there are none. */
function contents({ slice, area, marks, layout }: Pick<LinkState, "slice" | "area" | "marks" | "layout">): string {
  const pins = layout.pinned.length;
  const parts = [
    slice !== null && t("trace.link.slice"),
    area && t("trace.link.range"),
    pins > 0 && t("trace.link.pins", { count: pins }),
    marks.length > 0 && t("trace.link.marks", { count: marks.length }),
  ];
  return parts.filter(Boolean).join(t("trace.link.and"));
}

/** Note for a link with items of another span, which are not shown here. */
export function foreignNote({ span, params }: ForeignState): Note | null {
  const what = contents(parseLink({ ...params, [KEYS.of]: span, [KEYS.version]: "" }, span));
  if (what === "") return null;
  const place = places.peek().get(span);
  if (!place) return noteOf(t("trace.link.gone", { what }));
  const where = `${workerName(place.worker)}, ${place.span.label}`;
  const run = () => setParams({ run: place.run.id, worker: place.worker.id, span }, true);
  const action = { label: t("trace.link.open", { where: workerName(place.worker) }), run };
  return noteOf(t("trace.link.other", { what, where }), action);
}

/** Note for ids of a partial reading, which are void in any other reading. */
export function outdatedNote(params: Readonly<Record<string, string>>, span: string, version: string): Note | null {
  const given = params[KEYS.version] ?? "";
  if (given === "" || given === version) return null;
  const what = contents({ ...parseLink({ ...params, [KEYS.version]: "" }, span), marks: [] });
  return what === "" ? null : noteOf(t("trace.link.absent", { what }));
}

/** The items that this trace lacks as a note, and the link without them. */
export function checkLink(link: LinkState, data: TraceJson): { link: LinkState; note: Note | null } {
  const isHere = (track: number) => laneOfTrack(track) > 0 || findTrack(data.processes, track) !== null;
  const { slice } = link;
  const hasSlice = slice === null || slice < data.slices || isDerivedSlice(slice) || laneOfSlice(slice) > 0;
  const hasArea = link.area?.tracks?.every(isHere) !== false;
  const missing = {
    slice: hasSlice ? null : link.slice,
    area: hasArea ? null : link.area,
    marks: [],
    layout: { ...link.layout, pinned: link.layout.pinned.filter((track) => !isHere(track)) },
  };
  const what = contents(missing);
  if (what === "") return { link, note: null };
  const pinned = link.layout.pinned.filter(isHere);
  const found = {
    ...link,
    slice: hasSlice ? link.slice : null,
    area: hasArea ? link.area : null,
    layout: { ...link.layout, pinned },
  };
  return { link: found, note: noteOf(t("trace.link.absent", { what })) };
}

/** A slice by name and start (ns since 1970). */
interface NamedSlice {
  name: string;
  start: bigint;
}

/** Parameters that hold ids or times of one reading. */
const PLACE: readonly string[] = [KEYS.range, KEYS.area, KEYS.slice, KEYS.folded, KEYS.pinned];

/** Waits for more of the trace: holds a link with ids of the complete trace, or a slice. */
export class PendingLink {
  link: LinkState | null = null;
  slice: NamedSlice | null = null;

  /** Keeps a link with ids of the complete trace while only its beginning is read; returns what can be shown now. */
  keep(link: LinkState, isBeginning: boolean): LinkState {
    const { collapsedTracks, pinned } = link.layout;
    const hasPlace = link.range || link.area || link.slice !== null || collapsedTracks.size + pinned.length > 0;
    if (!isBeginning || link.version !== "" || !hasPlace) return link;
    this.link = link;
    const layout = { ...link.layout, collapsedTracks: new Set<number>(), pinned: [] };
    return { ...link, range: null, area: null, slice: null, layout };
  }

  waitFor(slice: NamedSlice): void {
    this.link = null;
    this.slice = slice;
  }

  clear(): void {
    this.link = null;
    this.slice = null;
  }

  /** Drops the link's target once the user moves on; returns the changes of the parameters. */
  giveUp(changes: Record<string, string | null>): Record<string, null> {
    if (!this.link || !PLACE.some((key) => key in changes)) return {};
    this.link = null;
    return Object.fromEntries(PLACE.map((key) => [key, null]));
  }
}
