/** Folds, pins, hides, moves and filters rows without the mouse on the canvas. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ProcessJson } from "../../../api/types.gen";
import { listen } from "../../../base/listen";
import { toggled } from "../../../base/search";
import { t } from "../../../i18n";
import * as rows from "../../../timeline/rows";
import { Button, PagedItems, TextButton } from "../../../widgets";
import { pinOnAllRanks } from "../ranks/rank_rows";
import type { OpenMenu, TraceSession } from "../session";
import { DisplayFields } from "./display_fields";

export function RowsMenu({ session }: { session: TraceSession }) {
  const state = session.layout.value;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const { processOrder, trackOrder } = state.arrangement;
  const all = rows.layOut(session.processes.value, {
    ...state,
    collapsedProcesses: new Set(),
    pinned: [],
    arrangement: { ...rows.AS_RECORDED, processOrder, trackOrder },
  });
  return (
    <div class="trace-menu">
      <input
        ref={field}
        class="field"
        type="search"
        placeholder={t("trace.rows.filter")}
        aria-label={t("trace.rows.filter")}
        value={state.filter}
        onInput={(event) => session.setLayout({ ...state, filter: event.currentTarget.value })}
      />
      <KindBoxes session={session} />
      <DisplayFields session={session} />
      <div class="row">
        <TextButton onClick={() => session.foldAll(true)}>{t("trace.rows.fold")}</TextButton>
        <TextButton onClick={() => session.foldAll(false)}>{t("trace.rows.unfold")}</TextButton>
        {state.pinned.length > 0 && (
          <TextButton onClick={() => session.setLayout({ ...state, pinned: [] })}>{t("trace.rows.unpin")}</TextButton>
        )}
        {rows.isArranged(state.arrangement) && (
          <TextButton onClick={() => session.arrange(rows.AS_RECORDED)}>{t("trace.rows.reset")}</TextButton>
        )}
      </div>
      {all.items.length === 0 && <p class="muted">{t("trace.rows.none")}</p>}
      <PagedItems items={all.items}>
        {(item) =>
          item.kind === "process" ? (
            <ProcessRow key={item.key} item={item} session={session} />
          ) : (
            <ThreadRow key={item.thread.track} item={item} session={session} />
          )
        }
      </PagedItems>
    </div>
  );
}

/** Shows and hides all processes of a kind. */
function KindBoxes({ session }: { session: TraceSession }) {
  const { hiddenProcesses } = session.layout.value.arrangement;
  const processes = session.processes.value;
  const keysOf = (kind: ProcessKind) => processes.filter((process) => kindOf(process) === kind).map(rows.processKey);
  const show = (keys: readonly string[], isShown: boolean) => {
    const hidden = new Set(hiddenProcesses);
    for (const key of keys) {
      if (isShown) hidden.delete(key);
      else hidden.add(key);
    }
    session.arrange({ hiddenProcesses: hidden });
  };
  return (
    <div class="row">
      {PROCESS_KINDS.map((kind) => [kind, keysOf(kind)] as const)
        .filter(([, keys]) => keys.length > 0)
        .map(([kind, keys]) => (
          <label key={kind}>
            <input
              type="checkbox"
              checked={keys.some((key) => !hiddenProcesses.has(key))}
              onChange={(event) => show(keys, event.currentTarget.checked)}
            />{" "}
            {t(`trace.rows.kind.${kind}`)}
          </label>
        ))}
    </div>
  );
}

function ProcessRow({ item, session }: { item: rows.ProcessItem; session: TraceSession }) {
  const state = session.layout.value;
  const { hiddenProcesses, processOrder } = state.arrangement;
  const isFolded = state.collapsedProcesses.has(item.fold);
  const keys = rows.inOrder(session.processes.value, rows.processKey, processOrder).map(rows.processKey);
  return (
    <RowTools
      name={rows.processLabel(item.process)}
      isHidden={hiddenProcesses.has(item.key)}
      onHide={() => session.arrange({ hiddenProcesses: toggled(hiddenProcesses, item.key) })}
      onMove={(step) => session.arrange({ processOrder: rows.moved(keys, item.key, step) })}
    >
      <Button
        look="option strong trace-process"
        expanded={!isFolded}
        onClick={() =>
          session.setLayout({ ...state, collapsedProcesses: toggled(state.collapsedProcesses, item.fold) })
        }
      >
        <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span>
        <span class="ellipsis">{rows.processLabel(item.process)}</span>
      </Button>
    </RowTools>
  );
}

function ThreadRow({ item, session }: { item: rows.TrackItem; session: TraceSession }) {
  const state = session.layout.value;
  const { hiddenTracks, trackOrder } = state.arrangement;
  const { track, name } = item.thread;
  const isPinned = rows.tracksOf(item.thread).some((one) => state.pinned.includes(one));
  const pin = () => session.setLayout({ ...state, pinned: rows.togglePinned(state.pinned, item.thread) });
  const move = (step: 1 | -1) => {
    const own = rows.inOrder(item.process.threads, (thread) => thread.track, trackOrder).map((thread) => thread.track);
    const others = trackOrder.filter((one) => !own.includes(one));
    session.arrange({ trackOrder: [...others, ...rows.moved(own, track, step)] });
  };
  return (
    <RowTools
      name={rows.trackLabel(item.thread)}
      isHidden={hiddenTracks.has(track)}
      onHide={() => session.arrange({ hiddenTracks: toggled(hiddenTracks, track) })}
      onMove={move}
    >
      <div class="option trace-thread" data-tip={session.helpOf(track)}>
        <span class="ellipsis grow">{rows.trackLabel(item.thread)}</span>
        <Button look="link small" name={t("trace.rows.pin", { name })} pressed={isPinned} onClick={pin}>
          {t(isPinned ? "trace.rows.unpin_one" : "trace.rows.pin_one")}
        </Button>
        {session.ranks.all.value.length > 1 && (
          <Button
            look="link small"
            tip={t("trace.row.pin_all", { name: rows.trackLabel(item.thread) })}
            onClick={() => void pinOnAllRanks(session, track)}
          >
            {t("trace.row.all_ranks")}
          </Button>
        )}
      </div>
    </RowTools>
  );
}

interface RowToolsProps {
  name: string;
  isHidden: boolean;
  onHide: () => void;
  onMove: (step: 1 | -1) => void;
  children: ComponentChildren;
}

/** A row of the menu with buttons that move and hide it. */
function RowTools({ name, isHidden, onHide, onMove, children }: RowToolsProps) {
  return (
    <div class={`trace-row-tools ${isHidden ? "muted" : ""}`}>
      {children}
      <TextButton label={t("trace.rows.up", { name })} onClick={() => onMove(-1)}>
        ↑
      </TextButton>
      <TextButton label={t("trace.rows.down", { name })} onClick={() => onMove(1)}>
        ↓
      </TextButton>
      <TextButton pressed={isHidden} onClick={onHide}>
        {t(isHidden ? "trace.rows.show_one" : "trace.rows.hide_one")}
      </TextButton>
    </div>
  );
}

const PROCESS_KINDS = ["host", "device", "communication", "counters"] as const;
type ProcessKind = (typeof PROCESS_KINDS)[number];

/** Names of the communication processes of all versions. */
const COMMUNICATION = new Set(["Communication", "HCCL"]);

/** Kinds of processes, which the menu of rows hides and shows together. */
function kindOf({ name, label, threads }: ProcessJson): ProcessKind {
  if (threads.length > 0 && threads.every((thread) => thread.kind === "counter")) return "counters";
  if (COMMUNICATION.has(name)) return "communication";
  return label.startsWith("CPU") ? "host" : "device";
}

/** The menu of a row: pin it, on this rank or on all. */
export function RowMenu({ session }: { session: TraceSession }) {
  const open = session.rowMenu.value;
  return open ? <Menu session={session} {...open} /> : null;
}

function Menu({ session, item, x, y }: OpenMenu & { session: TraceSession }) {
  const box = useRef<HTMLDivElement>(null);
  const close = () => (session.rowMenu.value = null);
  useEffect(() => {
    box.current?.querySelector("button")?.focus();
    const leave = (event: Event) => {
      const isInside = event.target instanceof Node && box.current?.contains(event.target);
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (isEscape) event.stopPropagation();
      if (!isInside || isEscape) close();
    };
    return listen(window, { pointerdown: leave, wheel: leave, keydown: leave }, { capture: true });
  }, [item]);
  const state = session.layout.value;
  const { track } = item.thread;
  const name = rows.trackLabel(item.thread);
  const isPinned = rows.tracksOf(item.thread).some((one) => state.pinned.includes(one));
  const actions: [string, () => void][] = [
    [
      t(isPinned ? "trace.row.unpin" : "trace.row.pin"),
      () => session.setLayout({ ...state, pinned: rows.togglePinned(state.pinned, item.thread) }),
    ],
  ];
  if (session.ranks.all.value.length > 1) {
    actions.push([t("trace.row.pin_all", { name }), () => void pinOnAllRanks(session, track)]);
  }
  if (state.pinned.length > 0) actions.push([t("trace.rows.unpin"), () => session.setLayout({ ...state, pinned: [] })]);
  return (
    <div ref={box} class="trace-menu row-menu" role="menu" aria-label={name} style={{ left: `${x}px`, top: `${y}px` }}>
      {actions.map(([text, run]) => (
        <button
          key={text}
          type="button"
          class="option"
          role="menuitem"
          onClick={() => {
            close();
            run();
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
