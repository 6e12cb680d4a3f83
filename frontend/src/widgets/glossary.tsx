import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { lang, t } from "../i18n";
import { Dialog } from "./dialog";
import { Facts } from "./facts";

type Term = readonly [string, string];

/** The explanation whose terms are listed first; null while the glossary is closed. */
const explained = signal<string | null>(null);

/** Opens the glossary. explanation: the text of a "?"; its terms come first. */
export function openGlossary(explanation = ""): void {
  explained.value = explanation;
}

/** The terms of the page with their meanings, from docs/glossary.md. */
export function GlossaryDialog() {
  const [terms, setTerms] = useState<readonly Term[]>([]);
  const text = explained.value;
  const isOpen = text !== null;
  const isChinese = lang.value === "zh-CN";
  useEffect(() => {
    if (!isOpen) return;
    void import("../i18n/glossary.gen").then(({ GLOSSARY }) =>
      setTerms(GLOSSARY.map((row): Term => (isChinese ? [row[2], row[3]] : [row[0], row[1]]))),
    );
  }, [isOpen, isChinese]);
  if (text === null) return null;
  const used = terms.filter(([word]) => isUsed(word, text));
  return (
    <Dialog isOpen onClose={() => (explained.value = null)} title={t("glossary.title")} class="glossary">
      {text && <p>{text}</p>}
      {used.length > 0 && <h3 class="dialog-part">{t("glossary.used")}</h3>}
      <Facts facts={used} />
      {used.length > 0 && <h3 class="dialog-part">{t("glossary.others")}</h3>}
      <Facts facts={terms.filter((term) => !used.includes(term))} />
    </Dialog>
  );
}

/** True if a text uses one of the names of a term: "free (idle)" has two. */
export function isUsed(term: string, text: string): boolean {
  const names = term.split(/[,()、（）]/).map((name) => name.trim().toLowerCase());
  const found = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}-]+/gu, " ")} `;
  return names.some((name) => name !== "" && found.includes(/^[ -~]+$/.test(name) ? ` ${name} ` : name));
}
