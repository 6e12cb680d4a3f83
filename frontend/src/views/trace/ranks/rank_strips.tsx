/** The strips of the chosen ranks, between the ruler and the rows of the open rank. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../../../i18n";
import { partColor, partTitle } from "../../../widgets/parts";
import type { TraceSession } from "../session";
import type { RankPlace } from "./choice";
import { shiftText } from "./shift_text";
import { StripCanvas } from "./strip_canvas";
import { STRIP_HEIGHT } from "./strip_paint";
import { useRanks } from "./use_ranks";

export function RankStrips({ session }: { session: TraceSession }) {
  return session.ranks.shown.value.length > 0 ? <Strips session={session} /> : null;
}

function Strips({ session }: { session: TraceSession }) {
  const { ranks } = session;
  const shown = ranks.shown.value;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const strips = useMemo(() => new StripCanvas(session), []);
  useRanks(session);
  useEffect(() => {
    if (!box.current || !canvas.current) return;
    strips.attach(box.current, canvas.current);
    return () => strips.detach();
  }, []);
  const known = ranks.data.value;
  useEffect(() => strips.loader.renew(), [known]);
  const extent = known ? ranks.extent(session.base) : null;
  useEffect(() => {
    if (extent) session.engine?.setBeside(extent);
  }, [extent?.start, extent?.end, session.reading.value]);
  useEffect(() => () => session.engine?.setBeside(null), []);
  return (
    <div class="rank-strips-frame">
      <Legend />
      <div ref={box} class="rank-strips" data-ready="no" onScroll={() => strips.draw()}>
        <div style={{ height: `${shown.length * STRIP_HEIGHT}px` }}>
          <canvas ref={canvas} class="rank-strips-canvas" />
          {shown.map((place, at) => (
            <RankName key={place.span} session={session} place={place} top={at * STRIP_HEIGHT} />
          ))}
        </div>
      </div>
    </div>
  );
}

/** Opens the rank at the time that the page shows. */
function RankName({ session, place, top }: { session: TraceSession; place: RankPlace; top: number }) {
  const isOpen = place.span === session.span;
  const line = session.ranks.data.value?.lines.find((one) => one.span === place.span);
  const stage = line?.pipeline_stage ? t("trace.ranks.in_stage", { stage: line.pipeline_stage }) : "";
  const isSlow = session.ranks.data.value?.stragglers.includes(place.span);
  const name = line?.rank === null || !line ? place.name : `rank ${line.rank}`;
  const tip = [
    isOpen ? t("trace.ranks.is_open") : t("trace.ranks.open", { name: place.name }),
    shiftText(session.ranks, place.span),
  ];
  return (
    <button
      type="button"
      class={`rank-strip-name ${isOpen ? "open" : ""} ${isSlow ? "slow" : ""}`}
      style={{ top: `${top}px`, height: `${STRIP_HEIGHT}px` }}
      aria-current={isOpen}
      data-tip={tip.filter(Boolean).join("\n")}
      onClick={() => session.openRank(place)}
    >
      <span class="ellipsis">
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> <b>{name}</b>{" "}
        <span class="muted small">{isSlow ? t("trace.ranks.straggler") : stage}</span>
      </span>
    </button>
  );
}

const LEGEND = ["computing", "overlapped", "waiting", "communication", "free"] as const;

function Legend() {
  return (
    <div class="rank-strips-legend muted small">
      {LEGEND.map((id) => (
        <span key={id}>
          <span class="swatch" style={{ background: partColor("budget", id) }} /> {partTitle("budget", id)}
        </span>
      ))}
    </div>
  );
}
