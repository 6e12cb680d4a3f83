/** Words of the Distributed view. */
export const en = {
  "distributed.title": "Distributed",
};

export const zh: Record<keyof typeof en, string> = {
  "distributed.title": "Distributed",
};
