/** Words of the Trace view. */
export const en = {
  "trace.title": "Trace",
};

export const zh: Record<keyof typeof en, string> = {
  "trace.title": "Trace",
};
