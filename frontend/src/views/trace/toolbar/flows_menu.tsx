/** Chooses the drawn arrows: those of the selected slice, or all of a kind. */

import { type Key, t, tOr } from "../../../i18n";
import { flowToken } from "../../../timeline/flow_kinds";
import { Popover } from "../../../widgets";
import type { TraceSession } from "../session";
import { MenuLabel } from "./menu_label";

export function FlowsMenu({ session }: { session: TraceSession }) {
  const kinds = session.data.flow_kinds;
  return (
    <Popover label={<MenuLabel text={labelText(session)} />}>
      {() => (
        <div class="trace-menu">
          <p class="muted small">{t(kinds.length > 0 ? "trace.flows.about" : "trace.flows.none")}</p>
          {kinds.length > 0 && (
            <div class="trace-flow-kind muted small" aria-hidden="true">
              <span>{t("trace.flows.column.slice")}</span>
              <span>{t("trace.flows.column.all")}</span>
            </div>
          )}
          {kinds.map((kind) => (
            <Kind key={kind} session={session} kind={kind} />
          ))}
        </div>
      )}
    </Popover>
  );
}

function Kind({ session, kind }: { session: TraceSession; kind: string }) {
  const { selection } = session;
  return (
    <div class="trace-flow-kind">
      <input
        type="checkbox"
        aria-label={t("trace.flows.show.slice", { kind })}
        checked={!selection.hiddenFlows.value.has(kind)}
        onChange={() => selection.toggleFlows(kind)}
      />
      <input
        type="checkbox"
        aria-label={t("trace.flows.show.all", { kind })}
        checked={session.arrows.value.has(kind)}
        onChange={() => session.toggleArrows(kind)}
      />
      <span class="swatch" style={{ background: `var(${flowToken(kind)})` }} />
      <span>{kind}</span>
      <span class="muted small">{tOr(`trace.flow.${kind}` satisfies string as Key, "")}</span>
    </div>
  );
}

function labelText({ data, arrows, selection }: TraceSession): string {
  const kinds = data.flow_kinds;
  const all = kinds.filter((kind) => arrows.value.has(kind));
  if (all.length === 1) return t("trace.flows.all", { kind: all[0] ?? "" });
  if (all.length > 1) return t("trace.flows.some", { count: all.length });
  const isOff = kinds.length > 0 && kinds.every((kind) => selection.hiddenFlows.value.has(kind));
  return t(isOff ? "trace.flows.off" : "trace.flows.selection");
}
