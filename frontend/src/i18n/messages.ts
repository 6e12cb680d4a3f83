import CATALOGUE from "../../../tb_npu_plugin/messages.json";
import type { MessageJson } from "../api/types.gen";
import { type Lang, lang } from "./language";

type Template = Readonly<Record<"en" | "zh", string>>;

/** An answer with texts of the server: in English, and as messages except for data. */
export type WithTexts<Field extends string> = Readonly<Record<Field, string>> & {
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
