/** Name and duration of the bar under the pointer. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { integer, shareOf } from "../../base/format";
import { t } from "../../i18n";
import type { HoverBar } from "../../timeline/scene";
import { duration } from "./format";
import type { TraceSession } from "./session";

const AWAY = 14;

export function HoverTip({ session }: { session: TraceSession }) {
  const hovered = session.hovered.value;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!hovered || !box.current) return;
    const { width, height } = box.current.getBoundingClientRect();
    const fitsRight = hovered.x + AWAY + width < window.innerWidth - 4;
    const fitsBelow = hovered.y + AWAY + height < window.innerHeight - 4;
    box.current.style.left = `${fitsRight ? hovered.x + AWAY : Math.max(4, hovered.x - AWAY - width)}px`;
    box.current.style.top = `${fitsBelow ? hovered.y + AWAY : hovered.y - AWAY - height}px`;
  });
  if (!hovered) return null;
  return (
    <div class="tooltip" ref={box}>
      {hovered.bar ? <BarFigures session={session} bar={hovered.bar} /> : hovered.help}
    </div>
  );
}

function BarFigures({ session, bar }: { session: TraceSession; bar: HoverBar }) {
  return (
    <>
      {bar.merged > 1 && <div>{t("trace.hover.merged", mergedFigures(bar))}</div>}
      <div>
        <b>{session.nameOf(bar)}</b>
      </div>
      <div>
        {duration(bar.longest)}
        {bar.merged === 1 && ` · ${session.shownTime(Math.round(bar.start))}`}
      </div>
    </>
  );
}

function mergedFigures({ merged, busy, start, end }: HoverBar) {
  return { count: integer(merged), total: duration(busy), share: shareOf(busy, end - start) };
}
