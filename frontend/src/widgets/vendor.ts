import { lang, t } from "../i18n";
import { VENDOR_WORDS, type VendorWord } from "../i18n/vendor_words.gen";

/** The key of texts in the current language. */
const tongue = () => (lang.value === "zh-CN" ? "zh" : "en");

/** The vendor's forms and our word, in the current language. */
export function vendorTerm({ words, what }: VendorWord): { words: readonly string[]; what: string } {
  return { words: words[tongue()], what: what[tongue()] };
}

/**
 * A tooltip with the line "In the vendor's documents: …".
 * place: a column's key, or "view" for the view itself; words that equal ours are left out.
 */
export function withVendorWords(tip: string, place: string, view?: string): string {
  const words = VENDOR_WORDS.filter((item) => item.at.includes(place) && (view === undefined || item.view === view))
    .map(vendorTerm)
    .flatMap(({ words, what }) => words.filter((word) => word.toLowerCase() !== what.toLowerCase()));
  const line = words.length > 0 ? t("glossary.vendor.tip", { words: words.join(t("glossary.vendor.and")) }) : "";
  return [tip, line].filter(Boolean).join("\n\n");
}
