/** Chooses how the strips are aligned with the rows of the open rank. */

import type { CollectiveEndJson, SliceDetailJson, TraceCollectiveJson, TraceRanksJson } from "../../../api/types.gen";
import { duration } from "../../../base/format";
import { t, tOf } from "../../../i18n";
import { originOf } from "../../../timeline/decode";
import { laneOfSlice } from "../../../timeline/lanes";
import { Cut, PagedItems, TextButton } from "../../../widgets";

import type { SlicePair } from "../selection/selection";
import type { TraceSession } from "../session";
import { Menu } from "../slice_list";
import { type Alignment, collectiveKey, collectiveName, formatAlignment, groupTitle } from "./alignment";
import { type RanksState, shiftText } from "./ranks_state";

export function AlignMenu({ session }: { session: TraceSession }) {
  const { ranks } = session;
  if (ranks.shown.value.length === 0) return null;
  const isDefault = ranks.alignment.value.kind === "clock" && ranks.byHand.value.size === 0;
  return (
    <Menu text={faceOf(ranks)} tip={tipOf(ranks)} name={faceOf(ranks)} class={isDefault ? "" : "chosen on"}>
      {() => (
        <div class="trace-menu wide">
          <Ways session={session} />
          <ByHand session={session} />
        </div>
      )}
    </Menu>
  );
}

function Ways({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const { lines = [] } = ranks.data.value ?? {};
  const steps = [...new Set(lines.flatMap((line) => line.steps.map(({ step }) => step)))];
  const byWait = [...collectivesInView(session)].sort((a, b) => b.wait - a.wait);
  return (
    <>
      <Way ranks={ranks} to={{ kind: "clock" }} text={t("trace.align.clock")} />
      <Way ranks={ranks} to={{ kind: "recorded" }} text={t("trace.align.recorded")} />
      <PagedItems items={steps}>
        {(step) => (
          <Way
            key={step}
            ranks={ranks}
            to={{ kind: "step", step }}
            text={tOf(ranks.period, "trace.align.step", { step })}
          />
        )}
      </PagedItems>
      <PagedItems items={byWait}>
        {(one) => {
          const collective = collectiveKey(one);
          const members = t("trace.ranks.members", { count: one.ends.length });
          const title = ranks.data.value && groupTitle(ranks.data.value, one);
          const text = [t("trace.align.end", { operator: collectiveName(one) }), title, members];
          const more = tOf(ranks.period, "trace.align.end.more", { step: one.step ?? "–", wait: duration(one.wait) });
          return (
            <Way
              key={collective}
              ranks={ranks}
              to={{ kind: "end", collective }}
              text={text.filter(Boolean).join(" · ")}
              more={more}
            />
          );
        }}
      </PagedItems>
    </>
  );
}

/** Collectives that end in the view; all if none does. */
function collectivesInView({ ranks, engine, base }: TraceSession): TraceCollectiveJson[] {
  const all = ranks.data.value?.collectives ?? [];
  if (!engine) return all;
  const { start, scale } = engine.scene.view;
  const origin = originOf(ranks.base.value, base) - start;
  const isInView = ({ span, end }: CollectiveEndJson) => {
    const time = end + origin + ranks.shiftOf(span);
    return time >= 0 && time < scale * engine.width;
  };
  const found = all.filter((one) => one.ends.some(isInView));
  return found.length > 0 ? found : all;
}

function Way({ ranks, to, text, more = "" }: { ranks: RanksState; to: Alignment; text: string; more?: string }) {
  const isChosen = formatAlignment(ranks.alignment.value) === formatAlignment(to);
  return (
    <label class="option" data-tip={[text, more].filter(Boolean).join("\n")}>
      <input type="radio" name="trace-align" checked={isChosen} onChange={() => ranks.align(to)} />
      <span class="ellipsis grow">{text}</span>
      <span class="muted small">{more}</span>
    </label>
  );
}

/** The offset of each rank, with a field for a further one. */
function ByHand({ session }: { session: TraceSession }) {
  const { ranks } = session;
  return (
    <>
      <div class="row">
        <b>{t("trace.align.by_hand")}</b>
        <TextButton onClick={() => ranks.clearOffsets()}>{t("trace.align.clear")}</TextButton>
      </div>
      <PagedItems items={ranks.shown.value}>
        {({ span, name }) => (
          <div key={span} class="rank-offset">
            <span class="ellipsis">{name}</span>
            <span class="muted small">{span === session.span ? t("trace.ranks.is_open") : shiftText(ranks, span)}</span>
            <input
              class="field"
              type="number"
              step="1"
              aria-label={t("trace.align.hand.name", { name })}
              value={ranks.byHand.value.get(span) ?? 0}
              onChange={(event) => ranks.setOffset(span, Math.round(Number(event.currentTarget.value) || 0))}
            />
          </div>
        )}
      </PagedItems>
    </>
  );
}

function faceOf(ranks: RanksState): string {
  const { alignment, shifts } = ranks;
  const { value } = alignment;
  if (value.kind === "step") {
    return t("trace.align.face", { what: tOf(ranks.period, "trace.align.step", { step: value.step }) });
  }
  if (value.kind === "recorded") return t("trace.align.face", { what: t("trace.align.recorded") });
  if (value.kind === "end") return t("trace.align.face", { what: endText(ranks.data.value, value.collective) });
  const errors = ranks.shown.value.flatMap(({ span }) => shifts.value.get(span)?.error ?? []);
  const what =
    errors.length > 0 ? `${t("trace.align.clock")} ± ${duration(Math.max(...errors))}` : t("trace.align.clock");
  return t("trace.align.face", { what });
}

function endText(data: TraceRanksJson | null, collective: string): string {
  const found = data?.collectives.find((one) => collectiveKey(one) === collective);
  return found || !data
    ? t("trace.align.end", { operator: found ? collectiveName(found) : "…" })
    : t("trace.align.absent");
}

/** What limits the alignment by clocks. */
function tipOf(ranks: RanksState): string {
  const lines = ranks.data.value?.lines ?? [];
  const untraced = lines.filter((line) => !line.is_traced).length;
  return untraced > 0 ? t("trace.align.untraced", { count: untraced }) : t("trace.align.tip");
}

/** What is added to the second slice's times to align the pair, ns. */
export function pairOffset({ first, second }: SlicePair, by: "start" | "end"): number {
  const end = by === "end" ? first.dur - second.dur : 0;
  return first.start - second.start + end;
}

/** Moves the rank of the second slice; the open rank keeps its times. */
function align(session: TraceSession, pair: SlicePair, by: "start" | "end"): void {
  const offset = pairOffset(pair, by);
  const isOpen = laneOfSlice(pair.second.id) === 0;
  const moved = session.lanes.loaded.peek().get(laneOfSlice((isOpen ? pair.first : pair.second).id));
  session.selection.closePair();
  if (!moved) return;
  const { span } = moved.place;
  session.ranks.setOffset(span, (session.ranks.byHand.peek().get(span) ?? 0) + (isOpen ? -offset : offset));
}

/** Aligns two ranks by hand: by a slice of each. */
export function AlignPair({ session }: { session: TraceSession }) {
  const pair = session.selection.pair.value;
  if (!pair) return null;
  const label = ({ id, name }: SliceDetailJson) => `${session.lanes.rankOf(laneOfSlice(id))}: ${name}`;
  return (
    <div class="trace-note" role="group" aria-label={t("trace.pair.title")}>
      <Cut class="grow">
        {label(pair.first)} ↔ {label(pair.second)}
      </Cut>
      {(["start", "end"] as const).map((by) => (
        <TextButton key={by} onClick={() => align(session, pair, by)}>
          {t(`trace.pair.${by}`, { offset: duration(pairOffset(pair, by)) })}
        </TextButton>
      ))}
      <TextButton label={t("trace.note.close")} onClick={() => session.selection.closePair()}>
        ✕
      </TextButton>
    </div>
  );
}
