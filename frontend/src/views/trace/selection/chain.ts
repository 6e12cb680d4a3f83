import type { ChainLinkJson, FlowJson } from "../../../api/types.gen";

/** The visible links of a chain: the frames nearest to the operator, then all links to the device. */

/** Kinds of flow that lead to a device task, the nearest cause first. Backward links are not causes. */
const CAUSES = ["HostToDevice", "async_task_queue", "async_mindspore", "async_npu"];
/** Number of callers shown before the first flow. */
const CALLERS = 4;

/** The incoming flow that launched slice `id`. */
export function causeOf(id: number, flows: readonly FlowJson[]): FlowJson | null {
  const incoming = flows.filter((flow) => flow.to.id === id && CAUSES.includes(flow.kind));
  return incoming.sort((a, b) => CAUSES.indexOf(a.kind) - CAUSES.indexOf(b.kind))[0] ?? null;
}

/** Number of outermost links that are hidden at first. */
export function hiddenLinks(links: readonly ChainLinkJson[]): number {
  const flow = links.findIndex((link) => link.via !== "");
  const last = flow < 0 ? links.length - 1 : flow;
  return Math.max(0, last - CALLERS);
}
