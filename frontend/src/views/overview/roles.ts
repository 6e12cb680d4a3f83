/** The roles of a reinforcement learning job on the wall clock. */

import type { RunJson } from "../../api/types.gen";

/** Time in which ranks of a role run tasks, ns after the start of the first role. span: one of its captures. */
interface RoleBar {
  start: number;
  end: number;
  span: string;
  label: string;
  captures: number;
}

export interface RoleLane {
  role: string;
  /** By start; what overlaps is one bar. */
  bars: RoleBar[];
  /** Captures that are not read. */
  unread: string[];
}

/** One lane for each role, the first to start on top; [] without roles. */
export function roleLanes({ workers }: RunJson): RoleLane[] {
  const roles = [...new Set(workers.map(({ role }) => role))];
  const starts = workers.flatMap(({ spans }) => spans.flatMap(({ device_ns: times }) => times?.slice(0, 1) ?? []));
  const base = starts.reduce((least, time) => (BigInt(time) < least ? BigInt(time) : least), BigInt(starts[0] ?? 0));
  const after = (time: string | undefined) => Number(BigInt(time ?? 0) - base);
  const lanes = roles.map((role) => {
    const own = workers.filter((worker) => worker.role === role).flatMap(({ spans }) => spans);
    const bars = own.flatMap(({ id, label, device_ns: times }) =>
      times ? [{ start: after(times[0]), end: after(times[1]), span: id, label, captures: 1 }] : [],
    );
    return { role, bars: merged(bars), unread: own.flatMap(({ id, state }) => (state === "new" ? [id] : [])) };
  });
  const first = ({ bars }: RoleLane) => bars[0]?.start ?? Number.POSITIVE_INFINITY;
  return roles.length > 1 ? lanes.sort((a, b) => (first(a) === first(b) ? 0 : first(a) - first(b))) : [];
}

function merged(bars: readonly RoleBar[]): RoleBar[] {
  const out: RoleBar[] = [];
  for (const bar of [...bars].sort((a, b) => a.start - b.start)) {
    const last = out[out.length - 1];
    if (!last || bar.start >= last.end) out.push({ ...bar });
    else Object.assign(last, { end: Math.max(last.end, bar.end), captures: last.captures + 1 });
  }
  return out;
}
