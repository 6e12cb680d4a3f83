/** The strips of the chosen ranks, between the ruler and the rows of the open rank. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TraceRankJson } from "../../../api/types.gen";
import { duration, fixedDecimals } from "../../../base/format";
import { type Period, t, tOf } from "../../../i18n";
import { Button } from "../../../widgets";
import { partColor, partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import { Splitter, useStoredSize } from "../splitter";
import type { RankPlace } from "./choice";
import { toggleRank } from "./rank_rows";
import { type RanksState, shiftText } from "./ranks_state";
import { rankName, StripCanvas } from "./strip_canvas";
import {
  type GroupItem,
  type Grouping,
  groupWaits,
  itemsBetween,
  LABELLED,
  type StripItem,
  type StripLayout,
} from "./strip_layout";
import { OtherRun, useRanks } from "./use_ranks";

/** Height of the strips: at first this share of the window, of low strips another; at least LEAST; ROOM stays for all else, px. */
const SHARE = 0.4;
const LOW_SHARE = 0.52;
const LEAST = 72;
const ROOM = 340;
/** Names are rendered so far beyond what is in sight, px. */
const MARGIN = 120;

export function RankStrips({ session }: { session: TraceSession }) {
  return session.ranks.shown.value.length > 0 ? <Strips session={session} /> : null;
}

function Strips({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const layout = ranks.layout.value;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const strips = useMemo(() => new StripCanvas(session), []);
  const [height, setHeight] = useStoredSize("trace.strips", 0);
  useRanks(session);
  useEffect(() => {
    if (!box.current || !canvas.current) return;
    strips.attach(box.current, canvas.current);
    return () => strips.detach();
  }, []);
  const [known, otherKnown, otherRun] = [ranks.data.value, ranks.otherData.value, ranks.otherRun.value];
  useEffect(() => strips.loader.renew(), [known, otherKnown]);
  useStragglerInSight(box, layout, ranks);
  const most = Math.min(layout.height, mostHeight());
  const isLow = layout.items.some((item) => item.kind === "rank" && item.height < LABELLED);
  const shown = Math.min(height || Math.round(window.innerHeight * (isLow ? LOW_SHARE : SHARE)), most);
  const { top, bottom } = strips.sight.value;
  // The rows below may leave less.
  const given = bottom > top ? Math.min(bottom - top, shown) : shown;
  return (
    <div class="rank-strips-frame">
      {otherRun && <OtherRun key={otherRun.id} session={session} run={otherRun.id} />}
      <Legend other={otherRun?.label ?? ""} period={ranks.period} />
      <div
        ref={box}
        class="rank-strips"
        data-ready="no"
        style={{ height: `${shown}px` }}
        onScroll={() => strips.draw()}
      >
        <div style={{ height: `${layout.height}px` }}>
          <canvas ref={canvas} class="rank-strips-canvas" />
          {itemsBetween(layout.items, top - MARGIN, Math.max(bottom, shown) + MARGIN).map((item) =>
            item.kind === "rank" ? (
              <RankName key={item.place.span} session={session} item={item} />
            ) : (
              <GroupHeading key={`group ${item.key}`} ranks={ranks} item={item} />
            ),
          )}
        </div>
      </div>
      {layout.height > LEAST && (
        <Splitter
          class="rank-strips-splitter"
          label={t("trace.ranks.height")}
          size={given}
          least={LEAST}
          most={given < shown ? given : most}
          grows="down"
          onResize={setHeight}
        />
      )}
    </div>
  );
}

/** Largest height of the strips that leaves room for rows. */
function mostHeight(): number {
  return Math.max(LEAST, window.innerHeight - ROOM);
}

/** Scrolls to the first straggler when it is known, and when the strips are ordered anew. */
function useStragglerInSight(box: { current: HTMLDivElement | null }, layout: StripLayout, ranks: RanksState): void {
  const order = `${[...ranks.known().stragglers]} ${ranks.grouping.value} ${ranks.sort.value} ${ranks.shown.value.length}`;
  useEffect(() => {
    const found = layout.items.find((item) => item.kind === "rank" && ranks.isStraggler(item.place.span));
    const element = box.current;
    if (!found || !element) return;
    const isAbove = found.y < element.scrollTop;
    const isBelow = found.y + found.height > element.scrollTop + element.clientHeight;
    if (isAbove || isBelow) element.scrollTop = found.y - (element.clientHeight - found.height) / 2;
  }, [order]);
}

/** Opens the rank at the time that the page shows, or unfolds its rows below those of the open one. */
function RankName({ session, item }: { session: TraceSession; item: StripItem }) {
  const { place, y, height, isLabelled } = item;
  const isOpen = place.span === session.span;
  const { lanes, ranks } = session;
  const line = ranks.lineOf(place.span);
  const stage = line?.pipeline_stage ? [t("trace.ranks.in_stage", { stage: line.pipeline_stage })] : [];
  const roles = [...(line?.numbers ?? []), ...stage].join(" · ");
  const slow = ranks.isStraggler(place.span) ? slowText(line?.computing_ratio ?? null) : "";
  const name = lanes.nameOf(place);
  const isUnfolded = isOpen || lanes.isUnfolded(place.span);
  const isLoading = lanes.loading.value.has(place.span);
  const note = isLoading ? t("trace.ranks.reading") : slow || roles;
  const open = isOpen ? t("trace.ranks.is_open") : t("trace.ranks.open", { name: place.name });
  const tip = [[name, slow, roles].filter(Boolean).join(" · "), open, shiftText(ranks, place.span)];
  const fold = t(isUnfolded ? "trace.ranks.fold" : "trace.ranks.unfold", { name });
  const looks = [isUnfolded && "open", slow && "slow", height < LABELLED && "low"].filter(Boolean).join(" ");
  return (
    <div class={`rank-strip-name ${looks}`} style={{ top: `${y}px`, height: `${height}px` }}>
      {isLabelled && (
        <Button
          look="rank-strip-fold"
          tip={isOpen ? open : fold}
          label={fold}
          disabled={isOpen}
          expanded={isUnfolded}
          onClick={() => void toggleRank(session, place.span)}
        >
          {isUnfolded ? "▾" : "▸"}
        </Button>
      )}
      <button
        type="button"
        class="rank-strip-open"
        aria-current={isOpen}
        aria-label={isLabelled ? undefined : name}
        data-tip={tip.filter(Boolean).join("\n")}
        onClick={() => session.openRank(place)}
      >
        {isLabelled && (
          <span class="ellipsis">
            <b>{name}</b> <span class="muted small">{note}</span>
          </span>
        )}
      </button>
    </div>
  );
}

/** Least excess of computing that is named. */
const LEAST_RATIO = 1.1;

/** "computes ×1.77", or "straggler" for one that does not compute longer. `ratio`: to the median rank. */
function slowText(ratio: number | null): string {
  if (ratio === null || ratio < LEAST_RATIO) return t("trace.ranks.straggler");
  return t("trace.ranks.computes", { ratio: fixedDecimals(ratio, 2) });
}

/** Name of a group, how long its ranks wait and for whom; folds it. */
function GroupHeading({ ranks, item }: { ranks: RanksState; item: GroupItem }) {
  const { key, y, height, members, isFolded } = item;
  const slow = members.filter(({ span }) => ranks.isStraggler(span)).map(({ span }) => ranks.lineOf(span));
  const lines = members.flatMap(({ span }) => ranks.lineOf(span) ?? []);
  const about = [otherGroup(ranks.grouping.value, lines), t("trace.ranks.members", { count: members.length })];
  const stragglers = slow.map((line) => (line?.rank == null ? (line?.worker ?? "") : `rank ${line.rank}`)).join(", ");
  return (
    <div class={`rank-strip-group ${slow.length > 0 ? "slow" : ""}`} style={{ top: `${y}px`, height: `${height}px` }}>
      <button type="button" aria-expanded={!isFolded} onClick={() => ranks.toggleGroup(key)}>
        {isFolded ? "▸" : "▾"} <b>{groupName(ranks, key, members)}</b>{" "}
        <span class="muted">{[...about, waitsOf(ranks, lines)].filter(Boolean).join(" · ")}</span>
        {stragglers && <span class="worse"> · {t("trace.group.straggler", { ranks: stragglers })}</span>}
      </button>
    </div>
  );
}

function groupName(ranks: RanksState, key: string, members: readonly RankPlace[]): string {
  const grouping = ranks.grouping.value;
  if (key === "") return t("trace.group.unknown");
  if (grouping === "host") return key;
  if (grouping === "stage") return t("trace.ranks.set.stage", { name: key });
  const [first, last] = [members[0]?.rank, members.at(-1)?.rank];
  return `${grouping.replace("group:", "")} ${first}–${last}`;
}

/** "7 wait up to 6.5 ms per step for rank 13"; "" if they do not wait. */
function waitsOf(ranks: RanksState, lines: readonly TraceRankJson[]): string {
  const found = groupWaits(lines, ranks.known().parts);
  if (!found) return "";
  const { count, most, rank } = found;
  return tOf(ranks.period, "trace.group.waits", { count, time: duration(most), rank: rankName(rank) });
}

/** The stage of a host, or the host of a stage, where it is one. */
function otherGroup(grouping: Grouping, lines: readonly TraceRankJson[]): string {
  const only = <Value,>(values: Value[]) => (new Set(values).size === 1 ? values[0] : null);
  const stage = only(lines.map((line) => line.pipeline_stage));
  if (grouping === "host") return stage == null ? "" : t("trace.ranks.in_stage", { stage });
  return (grouping === "stage" && only(lines.map((line) => line.host))) || "";
}

const LEGEND = ["computing", "overlapped", "waiting", "communication", "free"] as const;

/** `other`: name of the run that is compared; "" without one. */
function Legend({ other, period }: { other: string; period: Period }) {
  return (
    <div class="legend rank-strips-legend">
      {LEGEND.map((id) => (
        <span key={id}>
          <span class="swatch" style={{ background: partColor("budget", id) }} /> {partTitle("budget", id)}
        </span>
      ))}
      {other && (
        <span data-tip={tOf(period, "trace.versus.legend.tip")}>
          <b>B</b> {other}
        </span>
      )}
    </div>
  );
}
