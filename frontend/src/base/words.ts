/** The words of a filter, lower case; "" has none and matches everything. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** True if every word is in one of the texts, ignoring case; different words may be in different texts. */
export function holdsAll(texts: readonly unknown[], words: readonly string[]): boolean {
  return words.every((word) => texts.some((text) => typeof text === "string" && text.toLowerCase().includes(word)));
}
