import { COLUMN_DOCS } from "./column_docs";
import { KINETO, LINKS, MINDSPORE, MSPROF, PLACES } from "./formats";
import { MINDDATA } from "./minddata";
import { MINDINSIGHT } from "./mindinsight";
import type { ServerText } from "./texts.gen";
import { TITLES } from "./titles";

/** The Chinese of every text of the server; a text without one does not compile. */
export const SERVER_ZH: Readonly<Record<ServerText, string>> = {
  ...TITLES,
  ...COLUMN_DOCS,
  ...KINETO,
  ...LINKS,
  ...MINDDATA,
  ...MSPROF,
  ...MINDINSIGHT,
  ...MINDSPORE,
  ...PLACES,
};

const TEXTS: Readonly<Record<string, string>> = SERVER_ZH;
const BLANK = /\{(\d)\}/g;
/** A blank between two Chinese characters: templates have blanks around names, but not around Chinese. */
const GAP = /(?<=\p{sc=Han}) (?=\p{sc=Han})/gu;

/** Texts with placeholders, the longest first. */
const PATTERNS = Object.keys(SERVER_ZH)
  .filter((text) => text.search(BLANK) >= 0)
  .sort((left, right) => literal(right) - literal(left))
  .map((text) => ({ pattern: patternOf(text), blanks: blanksOf(text), chinese: TEXTS[text] as string }));

function literal(text: string): number {
  return text.replace(BLANK, "").length;
}

function blanksOf(text: string): string[] {
  return [...text.matchAll(BLANK)].map((match) => match[1] as string);
}

function patternOf(text: string): RegExp {
  const escaped = text.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replace(BLANK, "(.+?)")}$`, "s");
}

/** Chinese for a text of the server, and for texts in its placeholders. Unknown texts (names) stay as they are. */
export function translate(text: string): string {
  return translateKnown(text) ?? text;
}

function translateKnown(text: string): string | undefined {
  if (Object.hasOwn(TEXTS, text)) return TEXTS[text];
  for (const { pattern, blanks, chinese } of PATTERNS) {
    const found = pattern.exec(text);
    if (!found) continue;
    const values = new Map(blanks.map((blank, index) => [blank, translate(found[index + 1] as string)]));
    return chinese.replace(BLANK, (_, blank: string) => values.get(blank) ?? "").replace(GAP, "");
  }
  return undefined;
}

const PLACE = /^[a-z]+ \d+$/;

/** Translates places in a file: "line 3, Name, line 9, Name and 2 more". Names of columns and keys stay as they are. */
export function translatePlaces(places: string): string {
  const [, listed = places, more = ""] = /^(.+) and (\d+) more$/.exec(places) ?? [];
  const inChinese = listed
    .split(", ")
    .map((part) => (PLACE.test(part) ? translate(part) : part))
    .join(", ");
  return more ? SERVER_ZH["{0} and {1} more"].replace("{0}", () => inChinese).replace("{1}", more) : inChinese;
}
