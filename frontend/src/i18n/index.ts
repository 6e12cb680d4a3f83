import { effect, signal } from "@preact/signals";
import { param, params, setParams } from "../state/params";
import { store, stored } from "../state/storage";
import { ZH_COLUMNS } from "./columns";
import { EN, type Key, ZH } from "./dictionary";

export type { Key } from "./dictionary";
export type Lang = "en" | "zh-CN";

function initial(): Lang {
  const wanted = params.peek().lang || stored("lang") || navigator.language;
  return wanted.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export const lang = signal<Lang>(initial());

export function chooseLang(choice: Lang): void {
  lang.value = choice;
  store("lang", choice);
  if (param("lang")) setParams({ lang: choice });
}

/** Text of a key in the current language; `{name}` stands for a value. Subscribes the component that asks. */
export function t(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
  const text = (lang.value === "zh-CN" ? ZH : EN)[key];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Text of a key that comes from data (a column, a reason); `fallback`, the server's English, where there is none. */
export function tOr(key: string, fallback: string): string {
  const isChinese = lang.value === "zh-CN";
  const dictionary: Readonly<Record<string, string>> = isChinese ? ZH : EN;
  return dictionary[key] ?? (isChinese ? ZH_COLUMNS[key] : undefined) ?? fallback;
}

/** Tell the page its language, for fonts and screen readers. */
export function followLang(): void {
  effect(() => {
    document.documentElement.lang = lang.value;
    document.title = t("app.name");
  });
}
