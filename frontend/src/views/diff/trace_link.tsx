import { type Place, places } from "../../state/catalog";

export const placeOf = ({ run, worker, span }: Place) => ({ run: run.id, worker: worker.id, span: span.id });

/** Start (ns since 1970) and length of a step, as the Trace view takes a moment; null if one is unknown. */
export const momentOf = (start: string | null | undefined, ns: number | null | undefined): string | null =>
  start && ns ? `${start},${ns}` : null;

/** Parameters that show the strips of two captures in one timeline, at a moment of the first; null if a trace is missing. */
export function bothTimelines(tokens: readonly string[], at: string | null): Record<string, string | null> | null {
  const [first, second] = tokens.map((token) => places.value.get(token));
  if (!first?.span.has_trace || !second) return null;
  const versus = first.run === second.run ? null : second.run.id;
  return { ...placeOf(first), at, find: null, "trace.ranks": tokens.join("."), "trace.versus": versus };
}
