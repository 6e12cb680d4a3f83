import type { LinkJson } from "../../api/types.gen";
import { medianOf } from "../../base/outlier";
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

/** As the rules for MindSpore up to 2.2 have it (analysis/ranks/cluster_rules.py). */
const DIFFERS = 0.2;
const SPREAD = 3 * 1.4826;
const LEAST_PEERS = 3;
/** Transfers of a few bytes tell of latency and not of a link: bytes of a step. */
const LEAST_BYTES = 100_000;
/**
 * Nor is a link named that loses less time than healthy ones of real runs do: ns of a step. There a transfer between two ranks
 * takes up to 45 us longer than the median of those that are as large (of 1.2 to 19 MB, where it is 1 to 5 % of them).
 */
const LEAST_LOST = 50_000;
/**
 * Links that move pieces of a size: those of data and of tensor parallel groups send other ones, at other speeds. Pieces that
 * differ by less differ in speed by less than DIFFERS, whatever each costs beside.
 */
const SIMILAR = 0.25;
/** Where nothing tells the pieces: links that move as much in all. */
const SIMILAR_SUM = 0.1;

interface Traffic {
  src: number;
  dst: number;
  transport: string;
  opType: string;
  size: number;
  time: number;
  /** Operators that moved it; null: unknown. */
  calls: number | null;
}

/**
 * The links that are well below the median of those of the same transport and operator type that move pieces as large, the
 * furthest first: of both directions between two ranks, and of several types, the worst. links: of the chosen step or steps.
 */
export function slowLinks(links: readonly LinkJson[]): SlowLink[] {
  const steps = new Set(links.map((link) => link.step)).size;
  const known = traffic(links).filter((link) => link.time > 0 && link.size >= LEAST_BYTES * steps);
  const found = alike(known)
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

/** Links that can be compared. */
function alike(links: readonly Traffic[]): Traffic[][] {
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

/** Sums over the steps, of what is known. */
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
