/** Link targets that are not read yet. */

import { KEYS, type LinkState } from "./link";

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

  /**
   * Keeps a link with ids of the complete trace while only the beginning is read. Returns the part that can be shown
   * now.
   */
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
