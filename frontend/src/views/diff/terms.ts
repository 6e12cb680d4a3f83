/** Words of the Diff view. */
export const en = {
  "diff.title": "Diff",
};

export const zh: Record<keyof typeof en, string> = {
  "diff.title": "Diff",
};
