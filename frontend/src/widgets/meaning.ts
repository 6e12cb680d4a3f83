import { tOr } from "../i18n";

/** What a kernel does, by the id in the table of meanings; a word of a user's own table stays. */
export function meaningName(id: string): string {
  return tOr(`meaning.${id}`, id);
}
