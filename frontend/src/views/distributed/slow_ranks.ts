import { haveFewPeers, medianOf, outliers, stagesOf } from "../../base/outlier";
import { budgetParts, wholeOf } from "../../widgets";
import type { RankLine } from "./ranks";

/** Computes longer than its peers. Times in ns. */
interface Late {
  kind: "late";
  line: RankLine;
  computing: number;
  median: number;
}

/** Runs the same kernels slower than other ranks; used for ranks with too few peers. Times in ns. */
interface Slower {
  kind: "slower";
  line: RankLine;
  taken: number;
  expected: number;
}

/**
 * Arrives last at collectives: its communication time, the least communication time of its peers, and the longest wait
 * of the others for it at one collective of a step (null: unknown). Times in ns.
 */
interface Awaited {
  kind: "awaited";
  line: RankLine;
  communicated: number;
  others: number;
  late: number | null;
}

/** Idle for long in one stretch while every other rank communicates, `others` at least. Times in ns. */
interface Idle {
  kind: "idle";
  line: RankLine;
  idle: number;
  others: number;
}

/** A slow rank, and the evidence. */
export type SlowRank = Late | Slower | Awaited | Idle;

/** Differences in communication or idle time below this share of the longest step are ignored. */
const LEAST_DIFFERENCE = 0.1;
/**
 * A rank is also ignored if no single wait of the others reaches this share of the step. In host-bound runs, hosts that
 * start 0.1 ms apart stay that far apart at each collective, so that the sum of the waits is many times the loss.
 * Healthy simulated runs reach 3.2 %. If no collective is recorded (level 0), the late rank's device must have idled
 * that much longer than the others: in host-bound runs, all devices idle a good part of the step.
 */
const LEAST_LATE = 0.05;
/** Least wait for short steps, ns: hosts of healthy runs start up to 0.3 ms apart. */
const LEAST_APART = 300_000;
/** Least share of a rank's computing in kernels that other ranks also ran. */
const LEAST_COMPARED = 0.5;
/** While a rank idles, the others wait for at least this share of that time; they may still have work at first. */
const LEAST_HELD = 0.5;

/** The slow ranks of a step, each once, with the strongest evidence. */
export function slowRanks(lines: readonly RankLine[]): SlowRank[] {
  const stages = stagesOf(
    lines.map((line) => line.state),
    lines.map((line) => line.figures?.bubble),
  );
  const longest = Math.max(...lines.map(wholeLength));
  // A single wait is compared with one step, even if the capture has no step marks.
  const step = longest / Math.max(...lines.map(({ figures }) => figures?.repeats ?? 1));
  const found = [
    ...lateRanks(lines, stages),
    ...slowerRanks(lines, haveFewPeers(stages)),
    ...awaitedRank(lines, stages, longest, step),
    ...idle(lines, step),
  ];
  return found.filter((one, at) => found.findIndex((other) => other.line === one.line) === at);
}

const wholeLength = ({ figures }: RankLine) => (figures ? wholeOf(budgetParts(figures)) : 0);

function lateRanks(lines: readonly RankLine[], stages: readonly (number | null)[]): Late[] {
  const computing = lines.map((line) => line.figures?.computing);
  return outliers(computing, stages).flatMap(({ index, value, median }) => {
    const line = lines[index];
    return line ? [{ kind: "late", line, computing: value, median }] : [];
  });
}

/** Compares ranks by the kernels that both ran, across pipeline stages. */
function slowerRanks(lines: readonly RankLine[], isAlone: readonly boolean[]): Slower[] {
  const found = lines.map((line) => {
    const { same_kernels: taken = null, same_kernels_expected: expected = null, computing = null } = line.figures ?? {};
    const isEnough = taken !== null && taken >= LEAST_COMPARED * (computing ?? 0);
    return isEnough && expected ? { kind: "slower" as const, line, taken, expected } : null;
  });
  const ratios = found.map((one) => one && one.taken / one.expected);
  const everyone = lines.map(() => 0);
  // Two ranks are compared with each other.
  return outliers(ratios, everyone, 2).flatMap(({ index }) => {
    const one = isAlone[index] ? found[index] : null;
    return one ? [one] : [];
  });
}

/**
 * Ranks that all others of their stage wait for, the longest wait first: since all end together, each other rank
 * communicates longer by a good part of its step. Only ranks of one stage are compared: pipeline stages wait
 * differently, and a rank that waits for a late stage receives longer and so communicates as long as its peers.
 */
function awaitedRank(
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

/** Longest idle stretch of a rank minus the median of the others. */
function idleBeside(line: RankLine, lines: readonly RankLine[]): number {
  const idle = (one: RankLine) => one.figures?.idle_at_once ?? 0;
  return idle(line) - medianOf(lines.filter((other) => other !== line).map(idle));
}

/** The rank that communicates least among comparable ranks; none if one of them is unknown. */
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
 * Ranks that idle much longer in one stretch than the others, while each of those spends most of that time in one
 * communication. Needs no peers of the same stage: an idle rank waits for nothing.
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
