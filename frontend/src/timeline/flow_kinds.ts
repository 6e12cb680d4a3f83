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
