import type { LinkJson } from "../../api/types.gen";
import { medianOf } from "../../base/outlier";
import { LOCAL } from "./links";

/** A link that is slower than comparable links. Ranks are those of the job, or those of the group if unknown. */
export interface SlowLink {
  src: number;
  dst: number;
  /** 1e9 bytes per second. */
  bandwidth: number;
  median: number;
  /** Number of compared links, including this one. */
  peers: number;
  transport: string;
  opType: string;
}

/** The same threshold as in the rules for MindSpore up to 2.2 (analysis/ranks/cluster_rules.py). */
const DIFFERS = 0.2;
const SPREAD = 3 * 1.4826;
const LEAST_PEERS = 3;
/** Least bytes per step: small transfers measure latency, not the link. */
const LEAST_BYTES = 100_000;
/**
 * Least loss of a slow link, ns per step; healthy links of real runs lose less. There, a transfer between two ranks
 * takes up to 45 us longer than the median of transfers of the same size (1.2 to 19 MB, 1 to 5 % of them).
 */
const LEAST_LOST = 50_000;
/**
 * Largest relative difference of piece sizes on comparable links: data parallel and tensor parallel groups send pieces of different
 * size at different speed. If sizes differ by less, speeds differ by less than DIFFERS, whatever the fixed cost of a
 * piece.
 */
const SIMILAR = 0.25;
/** If the number of pieces is unknown: largest relative difference of the total sizes. */
const SIMILAR_SUM = 0.1;

interface Traffic {
  src: number;
  dst: number;
  transport: string;
  opType: string;
  size: number;
  time: number;
  /** Number of operators that moved it; null: unknown. */
  calls: number | null;
}

/**
 * Links well below the median of links with the same transport, operator type and similar piece size, the slowest
 * first. Reports only the worst of both directions and of several types between two ranks. links: of the chosen step or
 * steps.
 */
export function slowLinks(links: readonly LinkJson[]): SlowLink[] {
  const steps = new Set(links.map((link) => link.step)).size;
  const known = traffic(links).filter((link) => link.time > 0 && link.size >= LEAST_BYTES * steps);
  const found = groupAlike(known)
    .flatMap((peers) => slowOf(peers, steps))
    .sort((a, b) => a.bandwidth / a.median - b.bandwidth / b.median);
  const isSame = (a: SlowLink, b: SlowLink) =>
    (a.src === b.src && a.dst === b.dst) || (a.src === b.dst && a.dst === b.src);
  return found.filter((one, at) => found.findIndex((other) => isSame(one, other)) === at);
}

function slowOf(peers: readonly Traffic[], steps: number): SlowLink[] {
  if (peers.length < LEAST_PEERS) return [];
  const median = medianOf(peers.map(speed));
  const spread = medianOf(peers.map((peer) => Math.abs(speed(peer) - median)));
  return peers
    .filter((peer) => median - speed(peer) > Math.max(DIFFERS * median, SPREAD * spread))
    .filter((peer) => peer.time - peer.size / median >= LEAST_LOST * steps)
    .map((peer) => {
      const { src, dst, transport, opType } = peer;
      return { src, dst, transport, opType, bandwidth: speed(peer), median, peers: peers.length };
    });
}

/** Groups of comparable links. */
function groupAlike(links: readonly Traffic[]): Traffic[][] {
  const pieces = links.map((link) => ({
    link,
    kind: `${link.transport} ${link.opType} ${link.calls === null ? "" : "calls"}`,
    piece: link.size / (link.calls ?? 1),
    similar: link.calls === null ? SIMILAR_SUM : SIMILAR,
  }));
  pieces.sort((a, b) => (a.kind === b.kind ? a.piece - b.piece : a.kind < b.kind ? -1 : 1));
  const out: (typeof pieces)[] = [];
  for (const one of pieces) {
    const last = out[out.length - 1];
    const first = last?.[0];
    if (last && first && first.kind === one.kind && one.piece <= first.piece * (1 + one.similar)) last.push(one);
    else out.push([one]);
  }
  return out.map((peers) => peers.map((one) => one.link));
}

/** Sums of the known values over the steps. */
function traffic(links: readonly LinkJson[]): Traffic[] {
  const sums = new Map<string, Traffic>();
  for (const link of links) {
    const { size_bytes: size, time_ns: time, transport, op_type: opType, calls } = link;
    if (size === null || time === null || transport === null || transport === LOCAL) continue;
    const [src, dst, type] = [link.src_rank ?? link.src, link.dst_rank ?? link.dst, opType ?? ""];
    const key = `${transport} ${type} ${link.group} ${src} ${dst}`;
    const sum = sums.get(key) ?? { src, dst, transport, opType: type, size: 0, time: 0, calls: 0 };
    const all = sum.calls === null || !calls ? null : sum.calls + calls;
    sums.set(key, { ...sum, size: sum.size + size, time: sum.time + time, calls: all });
  }
  return [...sums.values()];
}

const speed = ({ size, time }: Traffic) => size / time;
