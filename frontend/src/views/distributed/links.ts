import type { GroupJson, Link } from "../../api/types.gen";
import { csvText } from "../../base/csv";

/** Figure in the cells of the matrix. */
export type Figure = "bandwidth" | "size_bytes" | "time_ns" | "transport";
export const FIGURES: readonly Figure[] = ["bandwidth", "size_bytes", "time_ns", "transport"];

/** Transport of traffic within one device: uses no link, about twenty times as fast. */
const LOCAL = "LOCAL";

/** All traffic from one rank to another in the chosen step, group and operator type. */
export interface LinkCell {
  src: number;
  dst: number;
  size_bytes: number | null;
  time_ns: number | null;
  /** 1e9 bytes per second; size / time of the sums. */
  bandwidth: number | null;
  transports: string[];
}

export interface Matrix {
  /** Profiled ranks, which have a row, and all ranks that they sent to. */
  rows: number[];
  columns: number[];
  cells: LinkCell[];
  /** Traffic of each rank with itself. */
  local: LinkCell[];
  /** True if ranks are numbered within the group, because the ranks in the job are unknown. */
  isGroupRank: boolean;
}

/** Ranks of a group that its name lists. */
const NAMED_RANKS = 8;

/** Role and ranks of a group where they are known, else its name in the files. */
export function groupTitle(groups: readonly GroupJson[], name: string): string {
  const found = groups.find(({ group }) => group === name);
  if (!found || (found.role === "" && found.ranks.length === 0)) return name;
  const listed = found.ranks.slice(0, NAMED_RANKS).map((rank) => rank ?? "?");
  const more = found.ranks.length > NAMED_RANKS ? ", …" : "";
  return [found.role, listed.length > 0 ? `(${listed.join(", ")}${more})` : ""].filter(Boolean).join(" ");
}

/** Groups with links. */
export function groupsOf(links: readonly Link[]): string[] {
  return [...new Set(links.map((link) => link.group ?? ""))].sort();
}

/** True if one matrix can hold all groups: the ranks in the job are known. */
export function canJoinGroups(links: readonly Link[]): boolean {
  return links.every((link) => link.src_rank !== null && link.dst_rank !== null);
}

/** Sums the links by source and destination. `group`, `opType`: "" for all. */
export function matrixOf(links: readonly Link[], group: string, opType: string): Matrix {
  const chosen = links.filter(
    (link) => (group === "" || (link.group ?? "") === group) && (opType === "" || link.op_type === opType),
  );
  const isGroupRank = !canJoinGroups(chosen);
  const cells = new Map<string, LinkCell>();
  for (const link of chosen) {
    const src = isGroupRank ? link.src : (link.src_rank ?? link.src);
    const dst = isGroupRank ? link.dst : (link.dst_rank ?? link.dst);
    const isLocal = link.transport === LOCAL;
    const key = `${src}-${dst}-${isLocal}`;
    const cell = cells.get(key) ?? { src, dst, size_bytes: null, time_ns: null, bandwidth: null, transports: [] };
    cell.size_bytes = sumOrNull(cell.size_bytes, link.size_bytes);
    cell.time_ns = sumOrNull(cell.time_ns, link.time_ns);
    if (link.transport && !cell.transports.includes(link.transport)) cell.transports.push(link.transport);
    cells.set(key, cell);
  }
  const all = [...cells.values()];
  for (const cell of all) cell.bandwidth = speed(cell);
  const isLocal = (cell: LinkCell) => cell.transports.includes(LOCAL);
  const between = all.filter((cell) => !isLocal(cell));
  return {
    rows: distinct(between.map((cell) => cell.src)),
    columns: distinct(between.flatMap((cell) => [cell.src, cell.dst])),
    cells: between,
    local: all.filter(isLocal).sort((a, b) => a.src - b.src),
    isGroupRank,
  };
}

/** True if the matrix of these links fits half the page. */
export function isSmallMatrix(links: readonly Link[]): boolean {
  return cellRoom(matrixOf(links, "", "").columns.length) === "full";
}

/** Every figure of the cells. */
export function linksCsv(cells: readonly LinkCell[]): string {
  const rows = cells.map((cell) => [
    cell.src,
    cell.dst,
    cell.transports.join(" "),
    cell.size_bytes,
    cell.time_ns,
    cell.bandwidth,
  ]);
  return csvText(["src", "dst", "transport", "size_bytes", "time_ns", "bandwidth_gb_per_s"], rows);
}

function sumOrNull(sum: number | null, value: number | null): number | null {
  return value === null ? sum : (sum ?? 0) + value;
}

function speed({ size_bytes: size, time_ns: time }: LinkCell): number | null {
  return size === null || time === null || time === 0 ? null : size / time;
}

function distinct(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Transports in a fixed order for colours and legend. */
export function transportsOf(cells: readonly LinkCell[]): string[] {
  return [...new Set(cells.flatMap((cell) => cell.transports))].sort();
}

/** Cell layout by number of columns: with the figure, or colour only. */
export function cellRoom(columns: number): "full" | "narrow" | "spot" {
  if (columns <= 16) return "full";
  return columns <= 32 ? "narrow" : "spot";
}
