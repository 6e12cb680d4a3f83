/** Longest name of a mark, in letters: it is part of the link. */
const NAME = 60;

/** Cuts between code points: half of a surrogate pair is not valid in a link. */
export function shortenName(name: string): string {
  const letters = [...name];
  return letters.length > NAME ? `${letters.slice(0, NAME - 1).join("")}…` : name;
}
