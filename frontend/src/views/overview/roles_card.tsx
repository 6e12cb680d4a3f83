import { setReading } from "../../api/client";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { chooseCapture, place } from "../../state/selection";
import { Button, Card } from "../../widgets";
import { type RoleLane, roleLanes } from "./roles";

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
    <div class="step-line role-lane">
      <span class="ellipsis" data-tip-cut>
        {role || t("overview.roles.none")}
      </span>
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
