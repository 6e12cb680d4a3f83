import { haveFewPeers, medianOf, outliers, stagesOf } from "../../base/outlier";
import { budgetParts, wholeOf } from "../../widgets";
import type { RankLine } from "./ranks";

/** Computes longer than its peers. ns. */
interface Late {
  kind: "late";
  line: RankLine;
  computing: number;
  median: number;
}

/** Its kernels take longer than the same ones of other ranks: told of ranks that have too few peers. ns. */
interface Slower {
  kind: "slower";
  line: RankLine;
  taken: number;
  expected: number;
}

/**
 * Comes late, and finds all others there: how long it communicates, the one of its peers that does least, and the longest that
 * they waited for it at one collective of a step (null: unknown). ns.
 */
interface Awaited {
  kind: "awaited";
  line: RankLine;
  communicated: number;
  others: number;
  late: number | null;
}

/** Nothing runs on it for long at once, and meanwhile each other one communicates: `others` at least. ns. */
interface Idle {
  kind: "idle";
  line: RankLine;
  idle: number;
  others: number;
}

/** A rank that keeps others waiting, and what shows it. */
export type SlowRank = Late | Slower | Awaited | Idle;

/** What ranks communicate differently, or idle longer, by less of the longest step does not stand out. */
const LEAST_DIFFERENCE = 0.1;
/**
 * Nor does a rank for which the others never wait longer at once: where launching takes the time, hosts that begin some 0.1 ms
 * apart are as far apart at each collective, so that the sum of the waits is many times what is lost. Healthy simulated runs
 * come to 3.2 %. Where no collective tells (level 0), the device of the late rank has idled for as much longer than the others:
 * where launching takes the time, all of them idle a good part of it.
 */
const LEAST_LATE = 0.05;
/** However short the step: hosts of healthy runs begin up to 0.3 ms apart. ns. */
const LEAST_APART = 300_000;
/** Kernels that were compared with those of other ranks tell of a rank where they are most of what it computes. */
const LEAST_COMPARED = 0.5;
/** While a rank idles, the others wait for it at least this share of that time; they may have had something to do still. */
const LEAST_HELD = 0.5;

/** The ranks that stand out in a step, each once, by the strongest of what shows it. */
export function slowRanks(lines: readonly RankLine[]): SlowRank[] {
  const stages = stagesOf(
    lines.map((line) => line.state),
    lines.map((line) => line.figures?.bubble),
  );
  const longest = Math.max(...lines.map(wholeLength));
  // What a rank is late at once is held against one step, though the capture does not tell where it begins.
  const step = longest / Math.max(...lines.map(({ figures }) => figures?.repeats ?? 1));
  const found = [
    ...late(lines, stages),
    ...slower(lines, haveFewPeers(stages)),
    ...awaited(lines, stages, longest, step),
    ...idle(lines, step),
  ];
  return found.filter((one, at) => found.findIndex((other) => other.line === one.line) === at);
}

const wholeLength = ({ figures }: RankLine) => (figures ? wholeOf(budgetParts(figures)) : 0);

function late(lines: readonly RankLine[], stages: readonly (number | null)[]): Late[] {
  const computing = lines.map((line) => line.figures?.computing);
  return outliers(computing, stages).flatMap(({ index, value, median }) => {
    const line = lines[index];
    return line ? [{ kind: "late", line, computing: value, median }] : [];
  });
}

/** Ranks are compared with all others by the kernels that both ran, whatever the stage. */
function slower(lines: readonly RankLine[], isAlone: readonly boolean[]): Slower[] {
  const found = lines.map((line) => {
    const { same_kernels: taken = null, same_kernels_expected: expected = null, computing = null } = line.figures ?? {};
    const isEnough = taken !== null && taken >= LEAST_COMPARED * (computing ?? 0);
    return isEnough && expected ? { kind: "slower" as const, line, taken, expected } : null;
  });
  const ratios = found.map((one) => one && one.taken / one.expected);
  const everyone = lines.map(() => 0);
  // Of two ranks each is the other's measure.
  return outliers(ratios, everyone, 2).flatMap(({ index }) => {
    const one = isAlone[index] ? found[index] : null;
    return one ? [one] : [];
  });
}

/**
 * Ranks that all others of their stage wait for: each of them communicates longer by a good part of its step, since all end
 * together. Stages of a pipeline wait differently by nature, so that ranks are compared with those of their own: one that
 * waits for a late stage receives longer, and so communicates as long as its peers. The longest wait first.
 */
function awaited(
  lines: readonly RankLine[],
  stages: readonly (number | null)[],
  longest: number,
  step: number,
): Awaited[] {
  return [...new Set(stages)]
    .flatMap((stage) => (stage === null ? [] : leastOf(lines.filter((_, at) => stages[at] === stage))))
    .filter((one) => one.others - one.communicated > LEAST_DIFFERENCE * longest)
    .filter((one) => (one.late ?? idleBeside(one.line, lines)) > Math.max(LEAST_LATE * step, LEAST_APART))
    .sort((a, b) => b.others - b.communicated - (a.others - a.communicated));
}

/** For how much longer nothing runs at once on a rank than on the median of the others. */
function idleBeside(line: RankLine, lines: readonly RankLine[]): number {
  const idle = (one: RankLine) => one.figures?.idle_at_once ?? 0;
  return idle(line) - medianOf(lines.filter((other) => other !== line).map(idle));
}

/** Of ranks that can be compared, the one that communicates least; none where one of them is not known. */
function leastOf(lines: readonly RankLine[]): Awaited[] {
  const known = lines.flatMap((line) => {
    const { communication_not_overlapped: bare = null, overlapped = null, late = null } = line.figures ?? {};
    return bare === null ? [] : [{ line, communicated: bare + (overlapped ?? 0), late }];
  });
  const [first, second] = known.sort((a, b) => a.communicated - b.communicated);
  return first && second && known.length === lines.length
    ? [{ kind: "awaited", ...first, others: second.communicated }]
    : [];
}

/**
 * Ranks that idle much longer at once than the others do, while each of those sits in one communication for most of that time.
 * It needs no peers: whatever stage a rank belongs to, it has nothing to wait for then.
 */
function idle(lines: readonly RankLine[], step: number): Idle[] {
  if (lines.some((line) => line.figures?.computing == null)) return [];
  const found = lines.filter((line) => idleBeside(line, lines) > Math.max(LEAST_DIFFERENCE * step, LEAST_APART));
  const others = lines.filter((line) => !found.includes(line)).map((line) => line.figures?.longest_communication ?? 0);
  if (others.length === 0) return [];
  const held = Math.min(...others);
  return found
    .map((line) => ({ kind: "idle" as const, line, idle: line.figures?.idle_at_once ?? 0, others: held }))
    .filter((one) => held >= LEAST_HELD * one.idle)
    .sort((a, b) => b.idle - a.idle);
}
