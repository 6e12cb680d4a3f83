import * as format from "../../base/format";
import { hasStages } from "../../base/outlier";
import { t } from "../../i18n";
import { ALL_STEPS, type RankLine, rankName } from "./ranks";
import { type SlowRank, slowRanks } from "./slow_ranks";

/** Slow ranks beyond this number are counted, not listed. */
const NAMED = 5;
/** A rank is late because of its host if the idle time of its device is at least this share of the others' wait. */
const EXPLAINS = 0.5;

/** One sentence per slow rank; step: the step of the lines. */
export function slowRankTexts(lines: readonly RankLine[], step: string): string[] {
  const found = slowRanks(lines);
  const isStaged = hasStages(lines.map((line) => line.state));
  const texts = found.slice(0, NAMED).map((one) => textOf(one, lines, isStaged, step === ALL_STEPS));
  return found.length > NAMED ? [...texts, t("ranks.more", { count: found.length - NAMED })] : texts;
}

/** isSum: sums over all steps, where "longest" is a sum of the longest of each step. */
function textOf(one: SlowRank, lines: readonly RankLine[], isStaged: boolean, isSum: boolean): string {
  const rank = rankName(one.line);
  switch (one.kind) {
    case "late":
      return t(isStaged ? "ranks.late.stage" : "ranks.late", {
        rank,
        time: format.duration(one.computing, 2),
        share: format.percentOfRatio(one.computing / one.median - 1, 0),
      });
    case "slower":
      return t("ranks.slower", {
        rank,
        time: format.duration(one.taken, 2),
        expected: format.duration(one.expected, 2),
        share: format.percentOfRatio(one.taken / one.expected - 1, 0),
      });
    case "awaited":
      return awaitedText(one, lines, isStaged, isSum);
    case "idle":
      return t(isSum ? "ranks.idle.sum" : "ranks.idle", {
        rank,
        time: format.duration(one.idle, 2),
        others: format.duration(one.others, 2),
      });
  }
}

function awaitedText(
  one: SlowRank & { kind: "awaited" },
  lines: readonly RankLine[],
  isStaged: boolean,
  isSum: boolean,
): string {
  const texts = [
    t(isStaged ? "ranks.awaited.stage" : "ranks.awaited", {
      rank: rankName(one.line),
      time: format.duration(one.communicated, 2),
      others: format.duration(one.others, 2),
    }),
  ];
  if (isSum) return texts.join(" ");
  if (one.late !== null) texts.push(t("ranks.awaited.longest", { time: format.duration(one.late, 2) }));
  const idle = one.line.figures?.idle_at_once ?? 0;
  // If another rank idles longer, this rank's host does not explain the wait.
  const isLongest = lines.every((line) => line === one.line || (line.figures?.idle_at_once ?? 0) < idle);
  if (isLongest && idle >= EXPLAINS * (one.others - one.communicated)) {
    texts.push(t("ranks.awaited.idle", { time: format.duration(idle, 2) }));
  }
  return texts.join(" ");
}
