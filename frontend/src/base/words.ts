/** What a filter is looked for by: its words, lower case. "" has none, and so fits everything. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Whether every word stands in one of the texts, whatever its case; each word may stand in another one. */
export function holdsAll(texts: readonly unknown[], words: readonly string[]): boolean {
  return words.every((word) => texts.some((text) => typeof text === "string" && text.toLowerCase().includes(word)));
}
