/** Keys of the timeline (table in timeline/keys.ts) and what they do. */

import { listen } from "../../../base/listen";
import { t } from "../../../i18n";
import { type Action, actionOf, helpRows, isHeld, takesText } from "../../../timeline/keys";
import { Dialog } from "../../../widgets";
import type { TraceSession } from "../session";

export interface KeyTargets {
  focusSearch(): void;
  openHelp(): void;
}

/** Keys that scroll or press a button if the focus is outside the timeline. */
const LOCAL = /^(Arrow|Page|Enter|Space|Backspace)/;

/** Listens on the document, so that the keys work as soon as the view opens. Returns a function that stops it. */
export function listenKeys(session: TraceSession, targets: KeyTargets): () => void {
  const down = (event: KeyboardEvent) => {
    if (event.defaultPrevented || takesText(event.target) || document.querySelector("dialog[open]")) return;
    if (event.code === "Escape" && document.querySelector(".popover")) return; // Escape closes the popover
    const root = session.engine?.root;
    const target = event.target as Node;
    const inRows = root?.contains(target) && !session.engine?.surface.slot.contains(target);
    const inside = target === document.body || inRows === true;
    if (!inside && LOCAL.test(event.code)) return;
    const action = actionOf(event);
    if (!action || !session.engine) return;
    event.preventDefault();
    event.stopPropagation();
    if (action !== "clear") session.dismissNote(); // which closes it itself, and nothing else
    if (isHeld(action)) session.engine.press(action, event.shiftKey, event.repeat);
    else perform(session, action, targets);
  };
  const up = (event: KeyboardEvent) => {
    const action = actionOf({ ...press(event), ctrlKey: false, metaKey: false, altKey: false });
    if (action && isHeld(action)) session.engine?.release(action);
  };
  const release = () => session.engine?.releaseAll();
  // Capture phase: the page also uses "/" and "?".
  return listen(window, { keydown: down, keyup: up, blur: release }, { capture: true });
}

function press({ code, key, shiftKey }: KeyboardEvent) {
  return { code, key, shiftKey };
}

function perform(session: TraceSession, action: Action, targets: KeyTargets): void {
  const { engine } = session;
  const now = session.selection.selected.peek();
  const detail = now?.detail;
  if (!engine) return;
  const goTo = (id: number | null | undefined) => {
    if (typeof id === "number") void session.selection.select(id, "sight");
  };
  const actions: Partial<Record<Action, () => void>> = {
    scrollUp: () => engine.scrollBy(-1),
    scrollDown: () => engine.scrollBy(1),
    zoomToArea: () => zoomToArea(session),
    undoZoom: () => engine.undo(),
    reset: () => engine.reset(),
    focus: () => focus(session),
    mark: () => session.marks.markHere(),
    flag: () => session.marks.flag(),
    nextSlice: () => goTo(detail?.next),
    previousSlice: () => goTo(detail?.previous),
    parentSlice: () => goTo(detail?.parent?.id),
    nextTask: () => void session.selection.walk.step("next"),
    previousTask: () => void session.selection.walk.step("previous"),
    search: targets.focusSearch,
    nextHit: () => void session.finder.step(1),
    previousHit: () => void session.finder.step(-1),
    togglePanel: () => (session.panelOpen.value = !session.panelOpen.peek()),
    clear: () => clear(session),
    help: targets.openHelp,
  };
  actions[action]?.();
}

export function zoomToArea(session: TraceSession): void {
  const area = session.area.area.peek();
  if (area) session.engine?.goTo(area, 0);
  else focus(session);
}

/** Scrolls to the selection; if it is visible, fits it to the width. */
export function focus(session: TraceSession): void {
  const { engine } = session;
  const area = session.area.area.peek();
  const detail = session.selection.selected.peek()?.detail;
  if (!engine) return;
  if (!detail) {
    if (area) engine.goTo(area);
    return;
  }
  const range = { start: detail.start, end: detail.start + detail.dur };
  const { shown } = engine;
  const inSight = range.end > shown.start && range.start < shown.end;
  const readable = (range.end - range.start) / engine.scene.view.scale >= 40;
  engine.scrollTo(detail.track, detail.depth);
  if (inSight && readable) engine.goTo(range);
  else engine.goTo(range, 2);
}

/** Clears one item per call: the note, the range, the selection, the search. */
function clear(session: TraceSession): void {
  if (session.note.peek()) session.note.value = null;
  else if (session.area.area.peek()) void session.setArea(null);
  else if (session.part.peek()) session.pickPart(null);
  else if (session.selection.selected.peek()) session.selection.clear();
  else if (session.search.text.peek()) void session.finder.find("", false);
}

const MOUSE = ["click", "double", "second", "menu", "drag", "alt", "pan", "wheel"] as const;

/** All keys of the timeline, and what the mouse does. */
export function KeysHelp({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t("trace.help.title")} class="trace-keys">
      <dl class="trace-keys-list">
        {helpRows().map(({ action, keys }) => (
          <div key={action}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{t(`trace.help.${action}`)}</dd>
          </div>
        ))}
        {MOUSE.map((how) => (
          <div key={how}>
            <dt>{t(`trace.help.m.${how}`)}</dt>
            <dd>{t(`trace.help.m.${how}.does`)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
