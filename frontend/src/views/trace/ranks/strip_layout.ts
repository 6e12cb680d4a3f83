/** Places of the strips and of the headings of their groups, from the top. */

import type { TraceGroupJson, TraceRankJson } from "../../../api/types.gen";
import { isSameRank, type RankPlace } from "./choice";

/** Orders of strips: by rank, or the longest first. */
export const SORTS = ["computing", "waiting", "step", "rank", "idle"] as const;
export type Sort = (typeof SORTS)[number];

/** A group of a strip: its pipeline stage, its host, or its communication group of a kind such as "tp". */
export type Grouping = "none" | "stage" | "host" | `group:${string}`;

export interface StripItem {
  kind: "rank";
  place: RankPlace;
  y: number;
  height: number;
  /** Whether there is room for its name. */
  isLabelled: boolean;
}

export interface GroupItem {
  kind: "group";
  /** Identifies it among the groups; "": of ranks whose group is not known. */
  key: string;
  y: number;
  height: number;
  members: RankPlace[];
  isFolded: boolean;
}

export interface StripLayout {
  items: (StripItem | GroupItem)[];
  height: number;
}

/** What the strips are ordered by. `parts`: of the times of the lines. */
export interface KnownRanks {
  lines: readonly TraceRankJson[];
  groups: readonly TraceGroupJson[];
  stragglers: ReadonlySet<string>;
  parts: readonly string[];
}

export interface StripOrder {
  grouping: Grouping;
  sort: Sort;
  /** Keys of folded groups. */
  folded: ReadonlySet<string>;
}

/** Height of a strip, px: the first that is meant for at least so many strips. */
const HEIGHTS = [
  [8, 24],
  [16, 20],
  [Number.POSITIVE_INFINITY, 9],
] as const;
/** Heights of headings, px: above strips with a name each, and above lower ones. */
const HEADING = 22;
const LOW_HEADING = 18;
/** Least height of a strip with a name; height of the names beside lower ones, px. */
export const LABELLED = 16;
export const LABEL_STEP = 13;
/** Of lower strips, each so many has a name. */
const LABEL_EVERY = 8;

export function layOutStrips(shown: readonly RankPlace[], known: KnownRanks, order: StripOrder): StripLayout {
  const height = HEIGHTS.find(([most]) => shown.length <= most)?.[1] ?? 0;
  const heading = height < LABELLED ? LOW_HEADING : HEADING;
  const layout: StripLayout = { items: [], height: 0 };
  const add = (item: StripItem | GroupItem) => {
    layout.items.push(item);
    layout.height += item.height;
  };
  const units = sorted(unitsOf(shown), known, order.sort);
  const groups = order.grouping === "none" ? [["", units] as const] : grouped(units, known, order.grouping);
  for (const [key, own] of groups) {
    const members = own.flat();
    const isFolded = order.grouping !== "none" && order.folded.has(key);
    if (order.grouping !== "none") add({ kind: "group", key, y: layout.height, height: heading, members, isFolded });
    for (const [at, place] of isFolded ? [] : members.entries()) {
      const isLabelled = height >= LABELLED || at % LABEL_EVERY === 0;
      add({ kind: "rank", place, y: layout.height, height, isLabelled });
    }
  }
  if (height < LABELLED) labelStragglers(layout, known.stragglers);
  return layout;
}

/** A rank, and below it the same rank of another run. */
type StripUnit = readonly RankPlace[];

function unitsOf(shown: readonly RankPlace[]): StripUnit[] {
  const units: RankPlace[][] = [];
  for (const place of shown) {
    const head = units.at(-1)?.[0];
    if (head && head.run !== place.run && isSameRank(head, place)) units.at(-1)?.push(place);
    else units.push([place]);
  }
  return units;
}

function sorted(units: StripUnit[], { lines, parts }: KnownRanks, sort: Sort): StripUnit[] {
  if (sort === "rank") return units;
  const times = new Map(lines.map((line) => [line.span, timeOf(line, parts, sort)]));
  const of = (unit: StripUnit) => times.get(unit[0]?.span ?? "") ?? -1;
  return [...units].sort((one, other) => of(other) - of(one));
}

/** The time of a rank that decides its place, ns per step; -1 if unknown. */
export function timeOf({ times }: TraceRankJson, parts: readonly string[], sort: Sort): number {
  if (times.length === 0) return -1;
  const ofSort = {
    rank: [],
    computing: ["computing", "overlapped"],
    waiting: ["waiting"],
    step: parts,
    idle: ["free"],
  };
  const wanted = ofSort[sort];
  return wanted.reduce((sum, part) => sum + (times[parts.indexOf(part)] ?? 0), 0);
}

/** Whom the ranks of a group wait for longest together: how many of them do, and the longest time per step; null if none waits. */
export function groupWaits(lines: readonly TraceRankJson[], parts: readonly string[]) {
  const byRank = new Map<string, number[]>();
  for (const line of lines) {
    const ns = timeOf(line, parts, "waiting");
    if (ns > 0 && line.waits_for !== null) byRank.set(line.waits_for, [...(byRank.get(line.waits_for) ?? []), ns]);
  }
  const total = (times: readonly number[]) => times.reduce((sum, ns) => sum + ns, 0);
  const [rank, times] = [...byRank].sort(([, one], [, other]) => total(other) - total(one))[0] ?? [];
  return rank === undefined || !times ? null : { rank, count: times.length, most: Math.max(...times) };
}

/** The members of each group, groups by their first member. */
function grouped(units: readonly StripUnit[], known: KnownRanks, grouping: Grouping): [string, StripUnit[]][] {
  const keyOf = groupKeys(known, grouping);
  const found = new Map<string, StripUnit[]>();
  for (const unit of units) {
    const key = keyOf(unit[0]?.span ?? "");
    found.set(key, [...(found.get(key) ?? []), unit]);
  }
  return [...found];
}

/** The group of a span; "" if it is not known. */
function groupKeys({ lines, groups }: Pick<KnownRanks, "lines" | "groups">, grouping: Grouping) {
  const line = new Map(lines.map((one) => [one.span, one]));
  if (grouping === "stage") return (span: string) => String(line.get(span)?.pipeline_stage ?? "");
  if (grouping === "host") return (span: string) => line.get(span)?.host ?? "";
  const own = groups.filter(({ title }) => `group:${title}` === grouping);
  const found = new Map(own.flatMap(({ group, spans }) => spans.map((span) => [span, group] as const)));
  return (span: string) => found.get(span) ?? "";
}

/** Ways to group the ranks that make at least two groups, one of them of several ranks. */
export function groupings(shown: readonly RankPlace[], known: Pick<KnownRanks, "lines" | "groups">): Grouping[] {
  const titles = [...new Set(known.groups.map(({ title }) => title))].filter(Boolean).sort();
  const all: Grouping[] = ["host", "stage", ...titles.map((title): Grouping => `group:${title}`)];
  return all.filter((grouping) => {
    const keyOf = groupKeys(known, grouping);
    const keys = new Set(shown.map(({ span }) => keyOf(span)));
    return keys.size > 1 && keys.size < shown.length;
  });
}

/** Names the stragglers; names too close to theirs are left out. */
function labelStragglers({ items }: StripLayout, stragglers: ReadonlySet<string>): void {
  const strips = items.filter((item) => item.kind === "rank");
  const named = strips.filter(({ place }) => stragglers.has(place.span));
  for (const strip of strips) {
    const isNear = named.some((one) => Math.abs(one.y - strip.y) < LABEL_STEP);
    if (isNear) strip.isLabelled = named.includes(strip);
  }
}

/** The items that are in sight between two heights. */
export function itemsBetween<T extends { y: number; height: number }>(
  items: readonly T[],
  top: number,
  bottom: number,
): T[] {
  return items.filter((item) => item.y + item.height > top && item.y < bottom);
}
