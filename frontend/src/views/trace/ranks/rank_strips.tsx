import { Button } from "../../../widgets";
/** The strips of the chosen ranks, between the ruler and the rows of the open rank. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Period, t, tOf } from "../../../i18n";
import { partColor, partTitle } from "../../../widgets/parts";
import { useRowWindow } from "../../../widgets/use_row_window";
import type { TraceSession } from "../session";
import type { RankPlace } from "./choice";
import { toggleRank } from "./rank_rows";
import { shiftText } from "./ranks_state";
import { StripCanvas } from "./strip_canvas";
import { STRIP_HEIGHT } from "./strip_paint";
import { OtherRun, useRanks } from "./use_ranks";

export function RankStrips({ session }: { session: TraceSession }) {
  return session.ranks.shown.value.length > 0 ? <Strips session={session} /> : null;
}

function Strips({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const shown = ranks.shown.value;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const all = useRef<HTMLDivElement>(null);
  const rows = useRowWindow(all, { count: shown.length, rowPx: STRIP_HEIGHT });
  const strips = useMemo(() => new StripCanvas(session), []);
  useRanks(session);
  useEffect(() => {
    if (!box.current || !canvas.current) return;
    strips.attach(box.current, canvas.current);
    return () => strips.detach();
  }, []);
  const [known, otherKnown, otherRun] = [ranks.data.value, ranks.otherData.value, ranks.otherRun.value];
  useEffect(() => strips.loader.renew(), [known, otherKnown]);
  return (
    <div class="rank-strips-frame">
      {otherRun && <OtherRun key={otherRun.id} session={session} run={otherRun.id} />}
      <Legend other={otherRun?.label ?? ""} period={ranks.period} />
      <div ref={box} class="rank-strips" data-ready="no" onScroll={() => strips.draw()}>
        <div ref={all} style={{ height: `${shown.length * STRIP_HEIGHT}px` }}>
          <canvas ref={canvas} class="rank-strips-canvas" />
          {shown.slice(rows.from, rows.to).map((place, at) => (
            <RankName key={place.span} session={session} place={place} top={(rows.from + at) * STRIP_HEIGHT} />
          ))}
        </div>
      </div>
    </div>
  );
}

/** Opens the rank at the time that the page shows, or unfolds its rows below those of the open one. */
function RankName({ session, place, top }: { session: TraceSession; place: RankPlace; top: number }) {
  const isOpen = place.span === session.span;
  const { lanes } = session;
  const line = session.ranks.lines().find((one) => one.span === place.span);
  const stage = line?.pipeline_stage ? t("trace.ranks.in_stage", { stage: line.pipeline_stage }) : "";
  const isSlow = session.ranks.isStraggler(place.span);
  const name = lanes.nameOf(place);
  const isUnfolded = isOpen || lanes.isUnfolded(place.span);
  const isLoading = lanes.loading.value.has(place.span);
  const note = isLoading ? t("trace.ranks.reading") : isSlow ? t("trace.ranks.straggler") : stage;
  const tip = [
    isOpen ? t("trace.ranks.is_open") : t("trace.ranks.open", { name: place.name }),
    shiftText(session.ranks, place.span),
  ];
  const fold = t(isUnfolded ? "trace.ranks.fold" : "trace.ranks.unfold", { name });
  return (
    <div class={`rank-strip-name ${isUnfolded ? "open" : ""} ${isSlow ? "slow" : ""}`} style={{ top: `${top}px` }}>
      <Button
        look="rank-strip-fold"
        tip={isOpen ? tip[0] : fold}
        label={fold}
        disabled={isOpen}
        expanded={isUnfolded}
        onClick={() => void toggleRank(session, place.span)}
      >
        {isUnfolded ? "▾" : "▸"}
      </Button>
      <button
        type="button"
        class="rank-strip-open"
        aria-current={isOpen}
        data-tip={tip.filter(Boolean).join("\n")}
        onClick={() => session.openRank(place)}
      >
        <span class="ellipsis">
          <b>{name}</b> <span class="muted small">{note}</span>
        </span>
      </button>
    </div>
  );
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
