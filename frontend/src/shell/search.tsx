import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ViewId } from "../api/types.gen";
import { listen } from "../base/listen";
import { t, viewTitle } from "../i18n";
import { places } from "../state/catalog";
import { params } from "../state/params";
import { openView, selection } from "../state/selection";
import { formatState, parseState } from "../widgets/table/state";

/** Search targets: the view and the table whose filter gets the text ("" for the timeline's search). */
const TARGETS: readonly { view: ViewId; table: string }[] = [
  { view: "kernel", table: "kernel.all" },
  { view: "operator", table: "operator.by_name" },
  { view: "trace", table: "" },
];

/** "/" focuses the field, except while typing elsewhere. */
function useSlash(field: RefObject<HTMLInputElement>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.closest("input, textarea, select, dialog, [contenteditable]")) return;
      event.preventDefault();
      field.current?.focus();
    };
    return listen(document, { keydown: onKey });
  }, [field]);
}

/** One search field for kernels, operators and slices; Enter opens the first target. */
export function Search() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);

  useSlash(field);
  const span = places.value.get(selection.value.span)?.span;
  const offered = TARGETS.filter(({ view }) => span?.views.find((item) => item.id === view)?.available !== false);
  const go = (index: number) => {
    const target = offered[index];
    if (!target || text.trim() === "") return;
    setOpen(false);
    field.current?.blur();
    if (target.table === "") {
      openView("trace", { "trace.q": text });
      return;
    }
    const key = `t.${target.table}`;
    const state = formatState({ ...parseState(params.peek()[key] ?? ""), filter: text });
    openView(target.view, { [key]: state, ...(target.view === "kernel" ? { "kernel.tab": "all" } : {}) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(offered.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") go(at);
    else if (event.key === "Escape") field.current?.blur();
    else return;
    event.preventDefault();
  };
  return (
    <search class="search">
      <input
        ref={field}
        class="field"
        type="text"
        placeholder={`${t("top.search")}   /`}
        aria-label={t("top.search")}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
          setAt(0);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      {isOpen && text.trim() !== "" && (
        <div class="popover" style={{ position: "absolute", top: "31px", right: 0, minWidth: "100%" }}>
          {offered.map(({ view }, index) => (
            <button
              type="button"
              key={view}
              class={`option ${index === at ? "at" : ""}`}
              onPointerDown={(event) => {
                event.preventDefault();
                go(index);
              }}
            >
              <span class="ellipsis">{t("search.in", { text, view: viewTitle(view) })}</span>
            </button>
          ))}
        </div>
      )}
    </search>
  );
}
