import {
  type DiagnosisJson,
  type FindingJson,
  type LedgerEntryJson,
  type LedgerJson,
  PARTS,
} from "../../api/types.gen";
import * as format from "../../base/format";
import { param } from "../../state/params";
import { message, partColor, partTitle } from "../parts";
import type { BarPart } from "../stacked_bar";

/** Entries of a ledger that are one row: of one kind and detail, or waiting for one rank. */
export interface LedgerRow {
  kind: FindingJson["shortens"][number];
  color: string;
  title: string;
  entries: readonly LedgerEntryJson[];
  ns: number;
  low: number;
  high: number;
  /** Of waiting for several ranks: a row for each, the longest first. */
  parts: readonly LedgerRow[];
}

/** Awaited ranks that have a row of their own. */
const MOST_RANKS = 6;

/** Key of a ledger in the URL. */
export const ledgerKey = ({ worker, device_id: device }: LedgerJson) =>
  device === null ? worker : `${worker} ${device}`;

/** "rank 3", "rank 3 · device 1"; the worker if several of `all` have this rank, or none is known. */
export function ledgerName(ledger: LedgerJson, all: readonly LedgerJson[]): string {
  const { rank, worker, device_id: device } = ledger;
  const isUnique = rank !== null && all.every((one) => one.rank !== rank || one.worker === worker);
  const name = isUnique ? `rank ${rank}` : worker;
  return device === null ? name : `${name} · device ${device}`;
}

/** The ledger of the URL, else that of the verdict. */
export function chosenLedger({ ledger, ledgers }: DiagnosisJson): LedgerJson | null {
  return ledgers.find((one) => ledgerKey(one) === param("overview.ledger")) ?? ledger ?? ledgers[0] ?? null;
}

/** The rows of a ledger, whose sum is its window. */
export function ledgerRows({ entries }: LedgerJson): LedgerRow[] {
  const rows = groupBy(entries, ({ entry, detail }) => (entry === "waiting" ? entry : `${entry} ${detail}`)).map(rowOf);
  return rows.map((row) => (row.kind === "waiting" ? waitingRow(row) : row));
}

/** Waiting for one rank, or for several with a row for each. */
function waitingRow(row: LedgerRow): LedgerRow {
  const ranks = groupBy(row.entries, ({ culprit }) => String(culprit)).map(rowOf);
  const parts = ranks.map((one) => ({ ...one, title: waitingTitle(one) })).sort((a, b) => b.ns - a.ns);
  if (parts.length <= 1) return parts[0] ?? row;
  const others = parts.slice(MOST_RANKS - 1);
  if (others.length <= 1) return { ...row, parts };
  const title = message("ledger.waiting_others", { count: others.length });
  const rest = { ...rowOf(others.flatMap(({ entries }) => entries)), title };
  return { ...row, parts: [...parts.slice(0, MOST_RANKS - 1), rest] };
}

function waitingTitle({ entries }: LedgerRow): string {
  const rank = entries[0]?.culprit ?? null;
  return rank === null ? message("ledger.waiting_unknown") : message("ledger.waiting_for", { rank: `rank ${rank}` });
}

function rowOf(entries: readonly LedgerEntryJson[]): LedgerRow {
  const sum = (key: "ns" | "low_ns" | "high_ns") => entries.reduce((total, one) => total + one[key], 0);
  const { entry = "unexplained", detail = "" } = entries[0] ?? {};
  const id = `${entry}_${detail}`;
  const part = id in PARTS.ledger ? (id as keyof typeof PARTS.ledger) : entry;
  const [title, color] = [partTitle("ledger", part), partColor("ledger", part)];
  return { kind: entry, title, color, entries, ns: sum("ns"), low: sum("low_ns"), high: sum("high_ns"), parts: [] };
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): T[][] {
  const found = new Map<string, T[]>();
  for (const item of items) found.set(key(item), [...(found.get(key(item)) ?? []), item]);
  return [...found.values()];
}

/** The time before the first task; null if there is none. */
export function rowBefore({ before_ns: ns }: LedgerJson): LedgerRow | null {
  const [title, color] = [partTitle("ledger", "before"), partColor("ledger", "before")];
  return ns > 0 ? { kind: "before", title, color, entries: [], ns, low: ns, high: ns, parts: [] } : null;
}

/** Findings by the row that they would shorten; null: none of them. */
export function placeFindings(
  findings: readonly FindingJson[],
  rows: readonly LedgerRow[],
  ledger: LedgerJson,
): Map<LedgerRow | null, FindingJson[]> {
  const found = new Map<LedgerRow | null, FindingJson[]>();
  for (const finding of findings) {
    const row = rowFor(finding, rows, ledger);
    found.set(row, [...(found.get(row) ?? []), finding]);
  }
  return found;
}

/** A finding about another rank shortens the waiting for it, or nothing here. */
function rowFor(finding: FindingJson, rows: readonly LedgerRow[], { rank, worker }: LedgerJson): LedgerRow | null {
  const { category, shortens, subject, ms_per_step: ms } = finding;
  const isHere = subject.rank === rank || subject.worker === worker;
  const isElsewhere = !isHere && (subject.rank !== undefined || subject.worker !== undefined);
  if (ms === 0 || (isElsewhere && category !== "ranks")) return null;
  // What the others wait for is the computing of the rank that they wait for.
  const kinds = isHere && category === "ranks" && shortens[0] === "waiting" ? ["computing"] : shortens;
  const fitting = kinds.flatMap((kind) => rows.filter((row) => row.kind === kind));
  if (isHere || subject.rank === undefined) return fitting[0] ?? null;
  const waits = fitting.flatMap((row) => (row.parts.length > 0 ? row.parts : [row]));
  const has = (is: (one: LedgerEntryJson) => boolean) => waits.find(({ entries }) => entries.some(is));
  const awaited = has(({ culprit }) => culprit === subject.rank);
  return awaited ?? has(({ chain }) => chain.some((end) => end.rank === subject.rank)) ?? null;
}

/** Ends of chains that are named. */
const MOST_ENDS = 3;

/** "rank 0 waits ← rank 2 computes 297.83 ms, …"; "" without chains. */
export function chainText({ entries }: LedgerRow, ledger: LedgerJson): string {
  const ends = groupBy(
    entries.flatMap(({ chain }) => chain),
    ({ rank, kind }) => `${rank} ${kind}`,
  );
  const sums = ends.map((same) => ({ ...same[0], ns: same.reduce((sum, { ns }) => sum + ns, 0) }));
  const named = sums.sort((a, b) => b.ns - a.ns).slice(0, MOST_ENDS);
  if (named.length === 0) return "";
  const texts = named.map(({ rank, kind, ns }) => {
    const who = rank == null ? message("ledger.some_rank") : `rank ${rank}`;
    return message(`ledger.end.${kind}`, { rank: who, time: format.duration(ns, 2) });
  });
  const more = sums.length > named.length ? ["…"] : [];
  return message("ledger.chain", { rank: ledgerName(ledger, []), ends: [...texts, ...more].join(", ") });
}

/** "point-to-point 312.15 ms, collectives 3.98 ms, inside MoeDistributeCombine 2 ms"; "" if all waits are at collectives. */
export function kindsText({ kind, entries, parts }: LedgerRow): string {
  if (kind !== "waiting" || parts.length > 0 || entries.every(({ detail }) => detail === "collective")) return "";
  return groupBy(entries, ({ detail }) => detail)
    .map((same) => {
      const ns = same.reduce((sum, one) => sum + one.ns, 0);
      const [detail, time] = [same[0]?.detail ?? "", format.duration(ns, 2)];
      if (detail === "p2p") return message("ledger.p2p", { time });
      return detail === "collective"
        ? message("ledger.collective", { time })
        : message("ledger.inside", { kernel: detail, time });
    })
    .join(", ");
}

/** True for time that the data do not tell apart: it is hatched. */
export const isUnknown = (kind: LedgerRow["kind"]) => kind === "unexplained" || kind === "communication";

/** Parts of the bar. What is bounded is solid up to its lower bound. */
export function barParts(rows: readonly LedgerRow[], unit: format.Unit): BarPart[] {
  return rows.flatMap((row) => {
    const { kind, title, color, ns, low } = row;
    const value = rangeText(row, unit);
    const labels = [`${title} ${value}`, value];
    const solid = isUnknown(kind) ? 0 : Math.min(low, ns);
    const open = solid > 0 ? [message("ledger.need.waiting")] : labels;
    const parts: BarPart[] = [
      { id: title, label: title, labels, color, value: solid },
      { id: `${title} ?`, label: title, labels: open, color, value: ns - solid, isHatched: true },
    ];
    return parts.filter((part) => part.value !== 0);
  });
}

/** The time of a row; its bounds if they differ. */
function rangeText({ ns, low, high }: LedgerRow, unit: format.Unit): string {
  const [from, to] = [timeText(low, unit), timeText(high, unit)];
  return from === to ? timeText(ns, unit) : message("ledger.range", { low: from, high: to });
}

/** A time in the unit of the ledger, without it. */
export function timeText(ns: number, unit: format.Unit): string {
  return format.fixedDecimals(ns / unit.scale, unit.scale === 1 ? 0 : 2);
}
