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

/** Spans of a choice in a link, in the order of the ranks. */
export function parseChoice(text: string, ranks: readonly RankPlace[]): RankPlace[] {
  const chosen = new Set(text.split("."));
  return ranks.filter(({ span }) => text === ALL || chosen.has(span));
}

/** "" for none, "all", or the spans. */
export function formatChoice(spans: ReadonlySet<string>, ranks: readonly RankPlace[]): string {
  if (ranks.every(({ span }) => spans.has(span))) return ALL;
  return ranks.flatMap(({ span }) => (spans.has(span) ? [span] : [])).join(".");
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
