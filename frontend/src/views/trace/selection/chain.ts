import type { ChainLinkJson, FlowJson } from "../../../api/types.gen";

/** Which links of a chain to show: the frames nearest to the operator, then all the way to the device. */

/** Kinds of flow that lead to a device task; the nearest cause first. Backward links are no cause. */
const CAUSES = ["HostToDevice", "async_task_queue", "async_mindspore", "async_npu"];
/** Frames (and operators around others) shown before the first flow. */
const CALLERS = 4;

/** The incoming flow that launched slice `id`. */
export function causeOf(id: number, flows: readonly FlowJson[]): FlowJson | null {
  const incoming = flows.filter((flow) => flow.to.id === id && CAUSES.includes(flow.kind));
  return incoming.sort((a, b) => CAUSES.indexOf(a.kind) - CAUSES.indexOf(b.kind))[0] ?? null;
}

/** How many of the outermost links to leave out at first. */
export function hiddenLinks(links: readonly ChainLinkJson[]): number {
  const flow = links.findIndex((link) => link.via !== "");
  const last = flow < 0 ? links.length - 1 : flow;
  return Math.max(0, last - CALLERS);
}
