/** Chooses the shown slices by duration, and what their colours say. */

import { t } from "../../../i18n";
import { cssColour, rankColour } from "../../../timeline/colours";
import {
  ALL_SLICES,
  COLOUR_MODES,
  type ColourMode,
  DURATION_LIMITS,
  DURATION_SHARES,
  PACKINGS,
} from "../../../timeline/display";
import type { TraceSession } from "../session";

/** A limit of durations: "10 µs". */
export function limitText(ns: number): string {
  if (ns < 1e3) return `${ns} ns`;
  return ns < 1e6 ? `${ns / 1e3} µs` : `${ns / 1e6} ms`;
}

export function DisplayFields({ session }: { session: TraceSession }) {
  const { least, colours, packings } = session.display.value;
  const limits = [...new Set([ALL_SLICES.least, ...DURATION_LIMITS, least])].sort((a, b) => a - b);
  return (
    <>
      <div class="row">
        <label>
          {t("trace.display.least")}{" "}
          <select
            class="field"
            aria-label={t("trace.display.least")}
            value={least}
            onChange={(event) => session.setDisplay({ least: Number(event.currentTarget.value) })}
          >
            {limits.map((limit) => (
              <option key={limit} value={limit}>
                {limit === 0 ? t("trace.display.all") : `≥ ${limitText(limit)}`}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t("trace.display.colours")}{" "}
          <select
            class="field"
            aria-label={t("trace.display.colours")}
            value={colours}
            onChange={(event) => session.setDisplay({ colours: event.currentTarget.value as ColourMode })}
          >
            {COLOUR_MODES.map((mode) => (
              <option key={mode} value={mode}>
                {t(`trace.display.colours.${mode}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="row">
        {PACKINGS.map((packing) => (
          <label key={packing} data-tip={t(`trace.display.packing.${packing}.tip`)}>
            <input
              type="checkbox"
              checked={packings.includes(packing)}
              onChange={(event) => session.setPacking(packing, event.currentTarget.checked)}
            />{" "}
            {t(`trace.display.packing.${packing}`)}
          </label>
        ))}
      </div>
      {colours === "duration" && <DurationLegend />}
      {colours === "rank" && <RankLegend session={session} />}
      {colours === "category" && <p class="small muted">{t("trace.display.category.about")}</p>}
    </>
  );
}

/** The ranks whose rows are loaded. */
function RankLegend({ session }: { session: TraceSession }) {
  const theme = session.engine?.scene.theme;
  const ranks = new Map(session.processes.value.map(({ rankPlace = 0, rank = "" }) => [rankPlace, rank]));
  return (
    <div class="row small muted">
      {[...ranks].map(([place, rank]) => (
        <span key={place}>
          <span class="swatch" style={{ background: cssColour(theme?.slices[rankColour(place)] ?? [0, 0, 0]) }} />{" "}
          {rank || session.lanes.rankOf(0)}
        </span>
      ))}
    </div>
  );
}

function DurationLegend() {
  return (
    <div class="row small muted">
      {DURATION_SHARES.map((share, place) => (
        <span key={share}>
          <span
            class="swatch"
            style={{ background: `color-mix(in srgb, var(--c-compute) ${share * 100}%, var(--surface))` }}
          />{" "}
          {place === 0 ? `< ${limitText(DURATION_LIMITS[0])}` : `≥ ${limitText(DURATION_LIMITS[place - 1] ?? 0)}`}
        </span>
      ))}
    </div>
  );
}
