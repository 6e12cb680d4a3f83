import { signal } from "@preact/signals";
import { param, params, setParams } from "../state/params";
import { readStored, store } from "../state/storage";

export type Lang = "en" | "zh-CN";

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
