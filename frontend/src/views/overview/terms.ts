/** Words of the Overview view. */
export const en = {
  "overview.title": "Overview",
};

export const zh: Record<keyof typeof en, string> = {
  "overview.title": "Overview",
};
