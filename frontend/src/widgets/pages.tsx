import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { integer } from "../base/format";
import { usePrinting } from "../base/use_media";
import { t } from "../i18n";
import { TextButton } from "./button";

/** Items that a page shows. */
const PAGE_ITEMS = 50;

interface Props<T> {
  items: readonly T[];
  /** Items of a page. */
  most?: number;
  /** Draws the items of a page; `first`: place of the first one. */
  children: (shown: readonly T[], first: number) => ComponentChildren;
}

/** A list of items of any height, a page at a time. Printing takes all. */
export function Pages<T>({ items, most = PAGE_ITEMS, children }: Props<T>) {
  const [page, setPage] = useState(0);
  const isPrinted = usePrinting();
  const pages = Math.ceil(items.length / most);
  if (pages <= 1 || isPrinted) return <>{children(items, 0)}</>;
  const at = Math.min(page, pages - 1);
  const first = at * most;
  const shown = items.slice(first, first + most);
  return (
    <>
      {children(shown, first)}
      <nav class="row small" aria-label={t("pages.label")}>
        <TextButton disabled={at === 0} onClick={() => setPage(at - 1)}>
          ‹ {t("pages.previous")}
        </TextButton>
        <span class="muted">
          {t("pages.shown", {
            from: integer(first + 1),
            to: integer(first + shown.length),
            count: integer(items.length),
          })}
        </span>
        <TextButton disabled={at === pages - 1} onClick={() => setPage(at + 1)}>
          {t("pages.next")} ›
        </TextButton>
      </nav>
    </>
  );
}

interface ItemsProps<T> {
  items: readonly T[];
  /** Draws an item, with a key. */
  children: (item: T, place: number) => ComponentChildren;
  /** Class of the list around the items; without one, there is no list. */
  list?: string;
}

/** Items that are drawn one by one, a page at a time. */
export function PagedItems<T>({ items, children, list }: ItemsProps<T>) {
  return (
    <Pages items={items}>
      {(shown, first) => {
        const drawn = shown.map((item, at) => children(item, first + at));
        return list === undefined ? drawn : <ul class={list}>{drawn}</ul>;
      }}
    </Pages>
  );
}
