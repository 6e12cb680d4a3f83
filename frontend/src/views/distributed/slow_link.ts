import type { LinkJson } from "../../api/types.gen";
import { LOCAL } from "./links";

/** A link that is slower than others which do the same. Ranks in the world, those inside the group where nothing tells. */
export interface SlowLink {
  src: number;
  dst: number;
  /** 1e9 bytes per second. */
  bandwidth: number;
  median: number;
  /** Links that it is compared with, itself included. */
  peers: number;
  transport: string;
  opType: string;
}

/** As the rules for MindSpore up to 2.2 have it (analysis/cluster_rules.py). */
const DIFFERS = 0.2;
const SPREAD = 3 * 1.4826;
const LEAST_PEERS = 3;
/** Small transfers never reach a link's bandwidth: bytes of a step. */
const LEAST_BYTES = 1_000_000;
/** Links that move as much: those of data and of tensor parallel groups send pieces of other sizes, at other speeds. */
const SIMILAR = 0.1;

interface Traffic {
  src: number;
  dst: number;
  kind: string;
  transport: string;
  opType: string;
  size: number;
  time: number;
}

/**
 * The link that is furthest below the median of those of the same operator type and transport that move as much; null where none
 * is well below it. links: of the chosen step or steps.
 */
export function slowLink(links: readonly LinkJson[]): SlowLink | null {
  const steps = new Set(links.map((link) => link.step)).size;
  const known = traffic(links).filter((link) => link.time > 0 && link.size >= LEAST_BYTES * steps);
  const found = alike(known).flatMap((peers) => slowestOf(peers) ?? []);
  return found.sort((a, b) => a.bandwidth / a.median - b.bandwidth / b.median)[0] ?? null;
}

function slowestOf(peers: readonly Traffic[]): SlowLink | null {
  const slowest = peers.reduce((one, other) => (speed(other) < speed(one) ? other : one));
  const bandwidth = speed(slowest);
  const middle = medianOf(peers.map(speed));
  const spread = medianOf(peers.map((peer) => Math.abs(speed(peer) - middle)));
  if (peers.length < LEAST_PEERS || middle - bandwidth <= Math.max(DIFFERS * middle, SPREAD * spread)) return null;
  const { src, dst, transport, opType } = slowest;
  return { src, dst, transport, opType, bandwidth, median: middle, peers: peers.length };
}

/** Links that can be compared. */
function alike(links: readonly Traffic[]): Traffic[][] {
  const sorted = [...links].sort((a, b) => (a.kind === b.kind ? a.size - b.size : a.kind < b.kind ? -1 : 1));
  const out: Traffic[][] = [];
  for (const link of sorted) {
    const last = out[out.length - 1];
    const first = last?.[0];
    if (last && first && first.kind === link.kind && link.size <= first.size * (1 + SIMILAR)) last.push(link);
    else out.push([link]);
  }
  return out;
}

/** Sums over the steps, of what is known. */
function traffic(links: readonly LinkJson[]): Traffic[] {
  const sums = new Map<string, Traffic>();
  for (const link of links) {
    const { size_bytes: size, time_ns: time, transport, op_type: opType } = link;
    if (size === null || time === null || transport === null || transport === LOCAL) continue;
    const [src, dst, type] = [link.src_rank ?? link.src, link.dst_rank ?? link.dst, opType ?? ""];
    const kind = `${transport} ${type}`;
    const key = `${kind} ${link.group} ${src} ${dst}`;
    const sum = sums.get(key) ?? { src, dst, kind, transport, opType: type, size: 0, time: 0 };
    sums.set(key, { ...sum, size: sum.size + size, time: sum.time + time });
  }
  return [...sums.values()];
}

const speed = ({ size, time }: Traffic) => size / time;

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const at = (index: number) => sorted[index] ?? 0;
  return sorted.length % 2 === 1 ? at(half) : (at(half - 1) + at(half)) / 2;
}
