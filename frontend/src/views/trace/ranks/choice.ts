/** The ranks that the timeline shows as strips. */

import type { RunJson, TraceRanksJson } from "../../../api/types.gen";

/** A rank of the run: the span beside the open one. */
export interface RankPlace {
  span: string;
  worker: string;
  name: string;
  /** Id of the run. */
  run: string;
  /** Rank in the job; null if not recorded. */
  rank: number | null;
}

/** A set of ranks to choose at once. */
export interface RankSet {
  kind: "straggler" | "stage" | "group" | "host";
  name: string;
  /** What more than the name tells sets apart. */
  title: string;
  spans: string[];
}

const ALL = "all";
const NONE = "none";
/** All ranks of a run of at most so many are shown at first. */
const MOST_AT_FIRST = 64;

/** The spans of a run that belong together: the n-th of each worker, if the open one is the n-th. */
export function ranksOf(run: RunJson, open: string): RankPlace[] {
  const at = Math.max(0, ...run.workers.map((worker) => worker.spans.findIndex((span) => span.id === open)));
  return run.workers.flatMap((worker) => {
    const span = worker.spans[at];
    if (!span) return [];
    return [{ span: span.id, worker: worker.id, name: worker.label || worker.id, run: run.id, rank: worker.rank }];
  });
}

/** Each rank with the same rank of another run below it, then those that only the other run has. */
export function pairedRanks(own: readonly RankPlace[], others: readonly RankPlace[]): RankPlace[] {
  const found = own.flatMap((place) => [place, ...others.filter((other) => isSameRank(place, other))]);
  return [...found, ...others.filter((other) => !found.includes(other))];
}

export function isSameRank(one: Pick<RankPlace, "rank">, other: Pick<RankPlace, "rank">): boolean {
  return one.rank !== null && one.rank === other.rank;
}

/**
 * Spans that are shown without a choice: all ranks of a run of several; of a large one, its representatives. `own`: ranks of the
 * run; `data` null: not known yet.
 */
export function firstChoice(
  own: readonly RankPlace[],
  open: string,
  data: Pick<TraceRanksJson, "representatives"> | null,
): ReadonlySet<string> {
  if (own.length < 2) return new Set();
  if (own.length <= MOST_AT_FIRST) return new Set(own.map(({ span }) => span));
  return new Set([open, ...(data?.representatives ?? [])]);
}

/** The ranks of a choice in a link, in their order. `first`: spans of those without a choice, and the same ranks of another run. */
export function parseChoice(text: string, ranks: readonly RankPlace[], first: ReadonlySet<string>): RankPlace[] {
  if (text === ALL) return [...ranks];
  const chosen = text === "" ? first : new Set(text.split("."));
  const paired = text === "" ? ranks.filter(({ span }) => first.has(span)) : [];
  return ranks.filter((place) => chosen.has(place.span) || paired.some((one) => isPair(one, place)));
}

function isPair(one: RankPlace, other: RankPlace): boolean {
  return one.run !== other.run && isSameRank(one, other);
}

/** "none", "all", or the spans. */
export function formatChoice(spans: ReadonlySet<string>, ranks: readonly RankPlace[]): string {
  if (ranks.every(({ span }) => spans.has(span))) return ALL;
  return ranks.flatMap(({ span }) => (spans.has(span) ? [span] : [])).join(".") || NONE;
}

/** Straggler and its peers, pipeline stages, communication groups, hosts. Sets of all ranks or of one are left out. */
export function rankSets({ lines, groups, stragglers }: TraceRanksJson): RankSet[] {
  const nameOf = (span: string) => lines.find((line) => line.span === span);
  const sets: RankSet[] = stragglers.map((span) => {
    const line = nameOf(span);
    const peers = lines.filter((one) => one.pipeline_stage === line?.pipeline_stage).map((one) => one.span);
    return {
      kind: "straggler",
      name: line?.rank === null ? (line?.worker ?? "") : String(line?.rank),
      title: "",
      spans: peers,
    };
  });
  const by = (kind: RankSet["kind"], key: (line: TraceRanksJson["lines"][number]) => string | null) => {
    const found = new Map<string, string[]>();
    for (const line of lines) {
      const name = key(line);
      if (name !== null) found.set(name, [...(found.get(name) ?? []), line.span]);
    }
    for (const [name, spans] of found) {
      if (found.size > 1 && spans.length > 1) sets.push({ kind, name, title: "", spans });
    }
  };
  by("stage", (line) => (line.pipeline_stage === null ? null : String(line.pipeline_stage)));
  for (const { group, title, spans } of groups) {
    if (spans.length < lines.length) sets.push({ kind: "group", name: group, title, spans });
  }
  by("host", (line) => line.host);
  return sets;
}
