import type { ComponentChildren } from "preact";
import { RowList } from "../../widgets";

/** Above this number of ranks, bars are closer together. */
const CLOSE_FROM = 12;
/** Height of a bar with the gap below, px; same values in distributed.css. */
const BAR_PX = 30;
const CLOSE_PX = 18;

interface Props {
  count: number;
  /** The bar at a place, with a key. */
  bar: (place: number) => ComponentChildren;
  class?: string;
}

/** Bars of ranks below each other; many scroll. */
export function BarList({ count, bar, class: name = "" }: Props) {
  const isClose = count > CLOSE_FROM;
  return (
    <div class={`dist-bars ${isClose ? "close" : ""} ${name}`}>
      <RowList count={count} rowPx={isClose ? CLOSE_PX : BAR_PX} row={bar} class="dist-bar-rows" />
    </div>
  );
}
