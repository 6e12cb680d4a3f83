/** CSS variables of marks and of flows. */

/** Name and CSS variable; the first is that of a mark without a colour. */
export const MARK_COLOURS = [
  ["blue", "--accent"],
  ["orange", "--c-wait"],
  ["yellow", "--c-comm"],
  ["green", "--c-vec"],
  ["purple", "--c-mix"],
  ["pink", "--c-pink"],
] as const;

export type MarkColour = (typeof MARK_COLOURS)[number][0];

export function isMarkColour(name: unknown): name is MarkColour {
  return MARK_COLOURS.some(([known]) => known === name);
}

/** CSS variable of a colour. */
export function markToken(colour: MarkColour | undefined): string {
  return (MARK_COLOURS.find(([name]) => name === colour) ?? MARK_COLOURS[0])[1];
}

/** Kinds of flows of Ascend traces and their colours. */

const COLOURS: Record<string, string> = {
  async_npu: "--c-mix",
  HostToDevice: "--c-compute",
  async_task_queue: "--c-vec",
  async_mindspore: "--c-vec",
  fwdbwd: "--c-wait",
};

/** CSS variable that carries the colour of a kind of flow. */
export function flowToken(kind: string): string {
  return COLOURS[kind] ?? "--c-comm";
}
