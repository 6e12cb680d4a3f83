/** Names and colours of the parts of times, which the server defines once (analysis/parts.py). */

import { type MessageJson, PARTS } from "../api/types.gen";
import * as format from "../base/format";
import { lang, tOr } from "../i18n";
import { sayMessage } from "../i18n/messages";

type Tables = typeof PARTS;

/** Name of a part in the current language. */
export function partTitle<Table extends keyof Tables>(table: Table, id: keyof Tables[Table]): string {
  return message((PARTS[table][id] as { title: string }).title);
}

/** A message in the current language. */
export function message(code: string, params: MessageJson["params"] = {}): string {
  return sayMessage({ code, params }, lang.value) ?? code;
}

/** A message of the server in the current language. */
export const say = ({ code, params }: MessageJson): string => message(code, params);

/** Name of a phase of iterations; null: its mark does not tell. */
export const phaseName = (phase: string | null): string =>
  phase === null ? format.UNKNOWN : message(`run.phase.${phase}`);

/** Colour of a part, for CSS. */
export function partColor<Table extends keyof Tables>(table: Table, id: keyof Tables[Table]): string {
  const { color } = PARTS[table][id] as { color: string };
  return `var(${color})`;
}

/** Ids of the parts of a table, in the order of the bar. */
export function partIds<Table extends keyof Tables>(table: Table): (keyof Tables[Table])[] {
  return Object.keys(PARTS[table]) as (keyof Tables[Table])[];
}

/** What a kernel does, by the id in the table of meanings; a word of a user's own table stays. */
export function meaningName(id: string): string {
  return tOr(`meaning.${id}`, id);
}
