import { effect } from "@preact/signals";
import { VIEW_TITLES, type ViewId } from "../api/types.gen";
import { EN, type Key, ZH } from "./dictionary";
import { lang } from "./language";
import { optionInChinese } from "./options";
import { translate, translatePlaces } from "./server";

export type { Key } from "./dictionary";
export { chooseLang, type Lang, lang } from "./language";
export { textOf } from "./messages";

/**
 * Text of a key in the current language; `{name}` stands for a value. Of one thing (`count`) it is the text under
 * "key.one", where there is one. Subscribes the component that asks.
 */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const dictionary: Readonly<Record<string, string>> = lang.value === "zh-CN" ? ZH : EN;
  const ofOne = String(values.count) === "1" ? dictionary[`${key}.one`] : undefined;
  // Keys made of data (a state, a stage) may be newer than this page: the key is better than no page.
  const text = ofOne ?? dictionary[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Text of a key that comes from data (a column, a group); `fallback`, a text of the server, where there is none. */
export function tOr(key: string, fallback: string): string {
  const dictionary: Readonly<Record<string, string>> = lang.value === "zh-CN" ? ZH : EN;
  return dictionary[key] ?? say(fallback);
}

/** The settings that record something next time, in the current language. */
export function sayOption(text: string): string {
  return lang.value === "zh-CN" ? optionInChinese(text) : text;
}

/** A text that the server says in English, in the current language. */
export function say(text: string): string {
  return lang.value === "zh-CN" ? translate(text) : text;
}

/** What a view is called in the current language; the id, where the server knows more views than this page. */
export function viewTitle(id: string): string {
  return say(VIEW_TITLES[id as ViewId] ?? id);
}

/** Where in a file, as a Problem tells it. */
export function sayPlaces(places: string): string {
  return lang.value === "zh-CN" ? translatePlaces(places) : places;
}

/** Tell the page its language, for fonts and screen readers. */
export function followLang(): void {
  effect(() => {
    document.documentElement.lang = lang.value;
    document.title = t("app.name");
  });
}
