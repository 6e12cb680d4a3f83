import { signal } from "@preact/signals";
import CATALOGUE from "../../../tb_npu_plugin/messages.json";
import type { MessageJson } from "../api/types.gen";
import { param, params, setParams } from "../state/params";
import { readStored, store } from "../state/storage";

type Template = Readonly<Record<"en" | "zh", string>>;

/** An answer with texts of the server: in English, and as messages except for data. */
export type WithTexts<Field extends string, Text = string> = Readonly<Record<Field, Text>> & {
  readonly texts: Readonly<Record<string, MessageJson>>;
};

/** A message in a language; undefined if this page's catalogue lacks it. */
export function sayMessage({ code, params }: MessageJson, language: Lang): string | undefined {
  const catalogue = CATALOGUE as Readonly<Record<string, Template>>;
  const tongue = language === "zh-CN" ? "zh" : "en";
  return catalogue[code]?.[tongue].replace(/\{(\w+)\}/g, (whole, name: string) => {
    // Words for a period without a value are those of a step: WORDS of messages.py.
    const value = params[name] ?? catalogue[`${name}.step`]?.[tongue];
    return typeof value === "object" ? (sayMessage(value, language) ?? whole) : String(value ?? whole);
  });
}

/** A text of the server in the current language; data stay as they are. */
export function textOf<Field extends string>(answer: WithTexts<Field>, field: Field): string {
  const message = answer.texts[field];
  return (message && sayMessage(message, lang.value)) ?? answer[field];
}

/** The same of a list: the message of its n-th text is "field.n". */
export function textAt<Field extends string>(
  answer: WithTexts<Field, readonly string[]>,
  field: Field,
  at: number,
): string {
  const message = answer.texts[`${field}.${at}`];
  return (message && sayMessage(message, lang.value)) ?? answer[field][at] ?? "";
}

const PLACE = /^([a-z]+) (\d+)$/;

/** Places of a problem in the current language: "line 3, Name, line 9, Name and 2 more". Names of columns stay as they are. */
export function placesOf({ where, texts }: WithTexts<"where">): string {
  const more = texts.where;
  if (!more) return listed(where);
  const params = { ...more.params, places: listed(String(more.params.places)) };
  return sayMessage({ ...more, params }, lang.value) ?? where;
}

function listed(places: string): string {
  const parts = places.split(", ").map((part) => {
    const [, unit, number = ""] = PLACE.exec(part) ?? [];
    return (unit && sayMessage({ code: `place.${unit}`, params: { number } }, lang.value)) ?? part;
  });
  return parts.join(", ");
}

type Lang = "en" | "zh-CN";

function initial(): Lang {
  const wanted = params.peek().lang || readStored("lang") || navigator.language;
  return wanted.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export const lang = signal<Lang>(initial());

export function chooseLang(choice: Lang): void {
  lang.value = choice;
  store("lang", choice);
  if (param("lang")) setParams({ lang: choice });
}
