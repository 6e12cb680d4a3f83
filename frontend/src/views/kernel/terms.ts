/** Words of the Kernel view. */
export const en = {
  "kernel.title": "Kernel",
};

export const zh: Record<keyof typeof en, string> = {
  "kernel.title": "Kernel",
};
