import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { lang, t, viewTitle } from "../i18n";
import { VENDOR_WORDS, type VendorWord } from "../i18n/vendor_words.gen";
import { Dialog } from "./dialog";
import { type Fact, Facts } from "./facts";
import { vendorTerm } from "./vendor";
import { ViewLink } from "./view_link";

type Term = readonly [string, string];

/** The explanation whose terms are listed first; null while the glossary is closed. */
const explained = signal<string | null>(null);

/** Opens the glossary. explanation: the text of a "?"; its terms come first. */
export function openGlossary(explanation = ""): void {
  explained.value = explanation;
}

const close = () => (explained.value = null);

/** The terms of the page with their meanings and the words of the vendor's documents, from docs/glossary.md. */
export function GlossaryDialog() {
  const [terms, setTerms] = useState<readonly Term[]>([]);
  const [filter, setFilter] = useState("");
  const text = explained.value;
  const isOpen = text !== null;
  const isChinese = lang.value === "zh-CN";
  useEffect(() => {
    if (!isOpen) return;
    setFilter("");
    void import("../i18n/glossary.gen").then(({ GLOSSARY }) =>
      setTerms(GLOSSARY.map((row): Term => (isChinese ? [row[2], row[3]] : [row[0], row[1]]))),
    );
  }, [isOpen, isChinese]);
  if (text === null) return null;
  const found = terms.filter((term) => matches(filter, term));
  const used = found.filter(([word]) => isUsed(word, text));
  const others = found.filter((term) => !used.includes(term));
  const vendor = vendorWords(filter);
  return (
    <Dialog isOpen onClose={close} title={t("glossary.title")} class="glossary">
      {text && <p>{text}</p>}
      <input
        class="field"
        type="search"
        placeholder={t("glossary.filter")}
        aria-label={t("glossary.filter")}
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      {found.length + vendor.length === 0 && <p class="muted">{t("glossary.none")}</p>}
      <Part title={t("glossary.used")} facts={used} />
      <Part title={used.length > 0 ? t("glossary.others") : ""} facts={others} />
      <Part title={t("glossary.vendor")} facts={vendor.map(vendorFact)} />
    </Dialog>
  );
}

function Part({ title, facts }: { title: string; facts: readonly Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <>
      {title && <h3 class="dialog-part">{title}</h3>}
      <Facts facts={facts} />
    </>
  );
}

function vendorFact(item: VendorWord): Fact {
  const { words, what } = vendorTerm(item);
  const link = (
    <ViewLink view={item.view} onOpen={close}>
      {viewTitle(item.view)}
    </ViewLink>
  );
  return [
    words.join(t("glossary.vendor.and")),
    <>
      {link}: {what}
    </>,
  ];
}

/** The words of the vendor's documents that a filter leaves: its forms in both languages, our word, the view. */
export function vendorWords(filter: string): readonly VendorWord[] {
  return VENDOR_WORDS.filter(({ words, view, what }) =>
    matches(filter, [...words.en, ...words.zh, what.en, what.zh, viewTitle(view)]),
  );
}

function matches(filter: string, texts: readonly string[]): boolean {
  const wanted = filter.trim().toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

/** True if a text uses one of the names of a term: "free (idle)" has two. */
export function isUsed(term: string, text: string): boolean {
  const names = term.split(/[,()、（）]/).map((name) => name.trim().toLowerCase());
  const found = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}-]+/gu, " ")} `;
  return names.some((name) => name !== "" && found.includes(/^[ -~]+$/.test(name) ? ` ${name} ` : name));
}
