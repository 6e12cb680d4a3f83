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
