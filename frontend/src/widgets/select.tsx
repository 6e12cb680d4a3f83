import { useEffect, useId, useRef, useState } from "preact/hooks";
import { holdsAll, wordsOf } from "../base/search";
import { t } from "../i18n";
import { Popover } from "./popover";
import { Cut } from "./text";
import { RowList } from "./use_row_window";

export interface Option {
  id: string;
  label: string;
  /** Muted text at the right: a count, a state. */
  note?: string;
  /** Tooltip: an explanation, or why it cannot be chosen. */
  tip?: string;
  disabled?: boolean;
}

interface Props {
  /** Label for screen readers and (with `prefix`) on the button. */
  label: string;
  options: readonly Option[];
  value: string;
  onChange: (id: string) => void;
  /** Shows "label: value" instead of the value only. */
  prefix?: boolean;
  /** Text if nothing is chosen. */
  placeholder?: string;
  class?: string;
}

/** Longer lists have a filter. */
const FILTER_FROM = 10;
/** Height of an option, px; same value in widgets.css. */
const OPTION_PX = 26;
/** Longest text that widens a list, in characters. */
const WIDEST = 60;

function longest(options: readonly Option[]): number {
  const lengths = options.map(({ label, note = "" }) => label.length + note.length + 4);
  return lengths.reduce((most, length) => Math.max(most, Math.min(WIDEST, length)), 0);
}

/** A dropdown list. Arrow keys, Home, End and Enter choose; long lists have a filter. */
export function Select({ label, options, value, onChange, prefix = false, placeholder, class: more = "" }: Props) {
  const chosen = options.find((option) => option.id === value);
  const text = chosen?.label ?? placeholder ?? "–";
  const face = <Cut class={`caption ${chosen ? "" : "muted"}`}>{prefix ? `${label}: ${text}` : text}</Cut>;
  const state = { class: more, disabled: options.length === 0 };
  return (
    <Popover label={face} arrow name={`${label}: ${text}`} popup="listbox" {...state}>
      {(close) => (
        <OptionList
          label={label}
          options={options}
          value={value}
          onChoose={(id) => {
            close();
            onChange(id);
          }}
        />
      )}
    </Popover>
  );
}

interface ListProps {
  label: string;
  options: readonly Option[];
  value: string;
  onChoose: (id: string) => void;
}

/** The options, with a filter if they are many. */
export function OptionList({ label, options, value, onChoose }: ListProps) {
  const [filter, setFilter] = useState("");
  const words = wordsOf(filter);
  const visible = options.filter((option) => holdsAll([option.label, option.note], words));
  const chosen = options.findIndex((option) => option.id === value);
  const [at, setAt] = useState(Math.max(0, chosen));
  const box = useRef<HTMLDivElement>(null);
  const list = useId();
  const active = visible.length > 0 ? `${list}:${at}` : undefined;
  const hasFilter = options.length > FILTER_FROM;
  const minWidth = hasFilter ? `${longest(options)}ch` : "";

  useEffect(() => {
    const first = box.current?.querySelector<HTMLElement>("input");
    (first ?? box.current)?.focus();
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    const last = visible.length - 1;
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last };
    const next = moves[event.key];
    const isEdit = hasFilter && (event.key === "Home" || event.key === "End");
    if (next !== undefined && !isEdit) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(last, next)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      const option = visible[at];
      if (option && !option.disabled) onChoose(option.id);
    }
  };
  const row = (place: number) => {
    const option = visible[place] as Option;
    const own = { option, isAt: place === at, isChosen: option.id === value };
    return <OptionRow key={option.id} id={`${list}:${place}`} {...own} onChoose={onChoose} />;
  };
  return (
    <div
      ref={box}
      role="listbox"
      aria-label={label}
      aria-activedescendant={active}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      style={{ outline: "none" }}
    >
      {hasFilter && (
        <input
          class="field"
          type="text"
          placeholder={t("select.filter")}
          aria-label={t("select.filter")}
          aria-activedescendant={active}
          value={filter}
          onInput={(event) => {
            setFilter(event.currentTarget.value);
            setAt(0);
          }}
        />
      )}
      <RowList count={visible.length} rowPx={OPTION_PX} at={at} minWidth={minWidth} row={row} />
      {visible.length === 0 && <div class="option muted">{t("select.none")}</div>}
    </div>
  );
}

interface RowProps {
  id: string;
  option: Option;
  isAt: boolean;
  isChosen: boolean;
  onChoose: (id: string) => void;
}

function OptionRow({ id, option, isAt, isChosen, onChoose }: RowProps) {
  return (
    <button
      type="button"
      role="option"
      id={id}
      class={`option ${isAt ? "at" : ""}`}
      aria-selected={isChosen}
      disabled={option.disabled ?? false}
      data-tip={option.tip}
      tabIndex={-1}
      onClick={() => onChoose(option.id)}
    >
      <span class="ellipsis">{option.label}</span>
      {option.note !== undefined && <span class="note">{option.note}</span>}
    </button>
  );
}
