import type { RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { debounce } from "../base/async";
import { integer } from "../base/format";
import { listen } from "../base/listen";
import { t } from "../i18n";
import { place } from "../state/selection";
import { useDiagnosis } from "../widgets/diagnosis/ledger";
import { localGroups, type PaletteGroup, type PaletteItem, remoteGroups } from "./palette";

const TYPING_MS = 200;

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

/** What the server finds for a text, once typing pauses. */
function useRemote(text: string): readonly PaletteGroup[] {
  const [found, setFound] = useState<{ text: string; groups: readonly PaletteGroup[] }>({ text: "", groups: [] });
  useEffect(() => {
    const here = place.peek();
    if (text === "" || !here) return;
    const controller = new AbortController();
    const ask = debounce(() => {
      void remoteGroups(text, here, controller.signal).then((groups) => {
        if (!controller.signal.aborted) setFound({ text, groups });
      });
    }, TYPING_MS);
    ask();
    return () => controller.abort();
  }, [text, place.value?.span.id]);
  return text !== "" && found.text === text ? found.groups : [];
}

/** One search over views, runs, ranks, findings, kernels, operators and slices, by mouse and keyboard. */
export function Search() {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const asked = text.trim();

  useSlash(field);
  return (
    <search class="search">
      <input
        ref={field}
        class="field"
        type="text"
        role="combobox"
        aria-expanded={isOpen && asked !== ""}
        aria-controls={list}
        placeholder={`${t("top.search")}   /`}
        aria-label={t("top.search")}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
      />
      {isOpen && asked !== "" && (
        <Palette
          id={list}
          text={asked}
          onDone={() => {
            setOpen(false);
            field.current?.blur();
          }}
        />
      )}
    </search>
  );
}

function Palette({ id, text, onDone }: { id: string; text: string; onDone: () => void }) {
  const here = place.value;
  const { data: diagnosis } = useDiagnosis(here?.run.id ?? "");
  const remote = useRemote(text);
  const groups = here ? [...localGroups(text, here, diagnosis), ...remote] : [];
  const items = groups.flatMap((group) => group.items);
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, items.length - 1);
  // Enter before the answer of the server opens the first that it finds.
  const eager = useRef("");
  const open = (item: PaletteItem | undefined) => {
    if (!item) return;
    onDone();
    item.open();
  };
  useEffect(() => {
    setAt(0);
    if (eager.current !== text) eager.current = "";
  }, [text]);
  useEffect(() => {
    if (eager.current === text) open(items[0]);
  });
  useEffect(() => box.current?.querySelector(".at")?.scrollIntoView({ block: "nearest" }), [chosen]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "ArrowDown") setAt(Math.min(items.length - 1, chosen + 1));
      else if (event.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
      else if (event.key === "Enter") {
        const typed = (event.target as HTMLInputElement).value.trim();
        if (typed === text && items.length > 0) open(items[chosen]);
        else eager.current = typed;
      } else return;
      event.preventDefault();
    };
    return listen(document, { keydown: onKey });
  });
  return (
    <div class="popover palette" id={id} ref={box} role="listbox" aria-label={t("top.search")}>
      {groups.length === 0 && <div class="option muted">{t("select.none")}</div>}
      {groups.map(({ title, total, items: shown }) => (
        <div key={title} role="group" aria-label={title}>
          <div class="palette-head muted">
            {title} <span class="mono">{integer(total)}</span>
          </div>
          {shown.map((item) => (
            <button
              type="button"
              role="option"
              key={item.label + item.note}
              class={`option ${items[chosen] === item ? "at" : ""}`}
              aria-selected={items[chosen] === item}
              tabIndex={-1}
              onPointerDown={(event) => {
                event.preventDefault();
                open(item);
              }}
            >
              <span class="ellipsis">{item.label}</span>
              {item.note && <span class="note mono">{item.note}</span>}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}
