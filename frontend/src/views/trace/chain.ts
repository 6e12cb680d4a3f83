/** How a device task came to be: the way back over flows and parents, from Python to the kernel. */

import type { FlowJson, SliceDetail } from "./api";

export interface ChainLink {
  id: number;
  name: string;
  /** How the next link follows from this one: a kind of flow, or "" for a call inside it. */
  via: string;
}

export interface ChainSource {
  slice(id: number): Promise<SliceDetail>;
  flows(id: number): Promise<FlowJson[]>;
}

/** Kinds that lead from the device to the operator; the most telling first. Backward links are no cause. */
const CAUSES = ["async_npu", "async_task_queue", "HostToDevice"];
const MOST = 6;

/** The incoming flow that explains slice `id` best. */
export function causeOf(id: number, flows: readonly FlowJson[]): FlowJson | null {
  const incoming = flows.filter((flow) => flow.to.id === id && flow.kind !== "fwdbwd");
  const rank = (flow: FlowJson) => (CAUSES.includes(flow.kind) ? CAUSES.indexOf(flow.kind) : CAUSES.length);
  return incoming.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/**
 * Links from the outermost caller to `detail`. Follows flows first, then parents; stops after MOST links, so a
 * deep Python stack shows its innermost frames.
 */
export async function chainOf(
  detail: SliceDetail,
  flows: readonly FlowJson[],
  source: ChainSource,
): Promise<ChainLink[]> {
  const links: ChainLink[] = [{ id: detail.id, name: detail.name, via: "" }];
  const seen = new Set([detail.id]);
  let slice = detail;
  let here = flows;
  while (links.length <= MOST) {
    const cause = causeOf(slice.id, here);
    const before = cause?.from ?? slice.parent;
    if (!before || seen.has(before.id)) break;
    links.unshift({ id: before.id, name: before.name, via: cause?.kind ?? "" });
    seen.add(before.id);
    [slice, here] = await Promise.all([source.slice(before.id), source.flows(before.id)]);
  }
  return links;
}
