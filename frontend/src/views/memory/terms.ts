/** Words of the Memory view. */
export const en = {
  "memory.title": "Memory",
};

export const zh: Record<keyof typeof en, string> = {
  "memory.title": "Memory",
};
