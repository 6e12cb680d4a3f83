import { effect } from "@preact/signals";
import type { DiagnosisJson } from "../api/types.gen";
import { type Key, TEXTS } from "./dictionary";
import { lang, sayMessage } from "./messages";

export type { Key } from "./dictionary";
export { chooseLang, lang, placesOf, textAt, textOf } from "./messages";

/**
 * Text of a key in the current language; `{name}` is replaced by a value. With `count` 1, "key.one" is used if it
 * exists. Subscribes the calling component.
 */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const ofOne = String(values.count) === "1" ? inLanguage(`${key}.one`) : undefined;
  // Keys built from data (a state, a stage) may be newer than this page: show the key.
  const text = ofOne ?? inLanguage(key) ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

function inLanguage(key: string): string | undefined {
  const texts: Readonly<Record<string, Readonly<Record<"en" | "zh", string>>>> = TEXTS;
  return texts[key]?.[lang.value === "zh-CN" ? "zh" : "en"];
}

/** What figures are of. */
export type Period = DiagnosisJson["period"];

/** Text of a key for what takes the place of a step: "key.iteration" if it exists. */
export function tOf(period: Period, key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const own = `${key}.${period}`;
  return t(own in TEXTS ? (own as Key) : key, values);
}

/** Text of a key from data (a group, a class); `fallback` if the key is unknown. */
export function tOr(key: string, fallback: string): string {
  return inLanguage(key) ?? fallback;
}

/** Title of a view in the current language; the id if this page does not know the view. */
export function viewTitle(id: string): string {
  return sayMessage({ code: `view.${id}`, params: {} }, lang.value) ?? id;
}

/** Sets the language of the page, for fonts and screen readers. */
export function followLang(): void {
  effect(() => {
    document.documentElement.lang = lang.value;
    document.title = t("app.name");
  });
}
