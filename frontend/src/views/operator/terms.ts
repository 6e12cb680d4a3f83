/** Words of the Operator view. */
export const en = {
  "operator.title": "Operator",
};

export const zh: Record<keyof typeof en, string> = {
  "operator.title": "Operator",
};
