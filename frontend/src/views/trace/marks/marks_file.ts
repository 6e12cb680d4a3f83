/** Marks as a JSON file: times in ns since 1970, so that they fit any reading of the trace, and other ranks. */

import { originOf } from "../../../timeline/decode";
import type { Mark } from "../../../timeline/scene";
import { isMarkColour } from "../../../timeline/tokens";

/** `base`: epoch time (ns) of time 0. */
export function marksToJson(marks: readonly Mark[], base: string): string {
  const listed = marks.map(({ start, end, name, colour }) => ({
    name,
    start_epoch_ns: String(BigInt(base) + BigInt(Math.round(start))),
    duration_ns: Math.round(end) - Math.round(start),
    ...(colour ? { colour } : {}),
  }));
  return `${JSON.stringify({ marks: listed }, null, 1)}\n`;
}

/** The marks of a file of `marksToJson`, and the number of entries that are none. Null: not such a file. */
export function marksFromJson(text: string, base: string): { marks: Mark[]; skipped: number } | null {
  let listed: unknown;
  try {
    listed = (JSON.parse(text) as { marks?: unknown } | null)?.marks;
  } catch {
    return null;
  }
  if (!Array.isArray(listed)) return null;
  const marks = listed.flatMap((one) => markOf(one, base) ?? []);
  return { marks, skipped: listed.length - marks.length };
}

function markOf(found: unknown, base: string): Mark | null {
  const { name, start_epoch_ns: epoch, duration_ns: took, colour } = (found ?? {}) as Record<string, unknown>;
  if (typeof epoch !== "string" || !/^\d{1,19}$/.test(epoch)) return null;
  if (typeof took !== "number" || !Number.isSafeInteger(took) || took < 0) return null;
  const start = originOf(epoch, base);
  if (!Number.isSafeInteger(start + took)) return null;
  const text = shortenName(typeof name === "string" ? name.replace(/\p{Surrogate}/gu, "�") : "");
  return { start, end: start + took, name: text, ...(isMarkColour(colour) ? { colour } : {}) };
}

/** Longest name of a mark, in letters: it is part of the link. */
const NAME = 60;

/** Cuts between code points: half of a surrogate pair is not valid in a link. */
export function shortenName(name: string): string {
  const letters = [...name];
  return letters.length > NAME ? `${letters.slice(0, NAME - 1).join("")}…` : name;
}
