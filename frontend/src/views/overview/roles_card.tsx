import { setReading } from "../../api/client";
import type { RunJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { chooseCapture, place } from "../../state/selection";
import { Button, Card, Cut } from "../../widgets";

/** When each role of a reinforcement learning job runs on its devices; a click opens a capture. */
export function RolesCard() {
  const lanes = place.value ? roleLanes(place.value.run) : [];
  if (lanes.length === 0) return null;
  const unread = lanes.flatMap((lane) => lane.unread);
  const whole = Math.max(1, ...lanes.flatMap(({ bars }) => bars.map(({ end }) => end)));
  return (
    <Card
      title={t("overview.roles")}
      subtitle={t("overview.roles.sub", { time: format.duration(whole) })}
      help={t("overview.roles.help")}
    >
      {lanes.map((lane) => (
        <Lane key={lane.role} lane={lane} whole={whole} />
      ))}
      {unread.length > 0 && (
        <Button onClick={() => void setReading(unread, "tables", "read")}>
          {t("overview.roles.read", { count: unread.length })}
        </Button>
      )}
    </Card>
  );
}

function Lane({ lane: { role, bars }, whole }: { lane: RoleLane; whole: number }) {
  const busy = bars.reduce((sum, { start, end }) => sum + end - start, 0);
  const at = (ns: number) => `${(100 * ns) / whole}%`;
  return (
    <div class="bar-row step-line role-lane">
      <Cut>{role || t("overview.roles.none")}</Cut>
      <div>
        {bars.map((bar) => (
          <button
            key={bar.start}
            type="button"
            style={{ left: at(bar.start), width: at(bar.end - bar.start) }}
            aria-label={`${role} ${bar.label}`}
            data-tip={`${bar.label}\n${format.duration(bar.end - bar.start)}, ${t("overview.roles.captures", { count: bar.captures })}`}
            onClick={() => chooseCapture(bar.span)}
          />
        ))}
      </div>
      <span class="mono">{bars.length > 0 ? format.shareOf(busy, whole) : format.UNKNOWN}</span>
    </div>
  );
}

/** Time in which ranks of a role run tasks, ns after the start of the first role. span: one of its captures. */
interface RoleBar {
  start: number;
  end: number;
  span: string;
  label: string;
  captures: number;
}

interface RoleLane {
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

/** The roles of a reinforcement learning job on the wall clock. */
function merged(bars: readonly RoleBar[]): RoleBar[] {
  const out: RoleBar[] = [];
  for (const bar of [...bars].sort((a, b) => a.start - b.start)) {
    const last = out[out.length - 1];
    if (!last || bar.start >= last.end) out.push({ ...bar });
    else Object.assign(last, { end: Math.max(last.end, bar.end), captures: last.captures + 1 });
  }
  return out;
}
