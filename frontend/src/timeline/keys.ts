/** Keys of the timeline: one table for the handler and for the help. */

/** Actions that repeat while their key is held. */
export type HeldAction = "zoomIn" | "zoomOut" | "panLeft" | "panRight";

interface Binding<Name extends string> {
  action: Name;
  /** KeyboardEvent.code: the physical key, the same on every layout. */
  code?: string;
  /** KeyboardEvent.key, for characters on layout-dependent keys. */
  key?: string;
  /** true: required, false: forbidden, absent: ignored. */
  shift?: boolean;
  control?: boolean;
  /** Label in the help; bindings without one are alternatives. */
  shown?: string;
}

const TABLE = [
  { action: "zoomIn", code: "KeyW", shown: "W" },
  { action: "zoomIn", code: "ArrowUp", shown: "↑" },
  { action: "zoomOut", code: "KeyS", shown: "S" },
  { action: "zoomOut", code: "ArrowDown", shown: "↓" },
  { action: "panLeft", code: "KeyA", shown: "A" },
  { action: "panLeft", code: "ArrowLeft", shown: "←" },
  { action: "panRight", code: "KeyD", shown: "D" },
  { action: "panRight", code: "ArrowRight", shown: "→" },
  { action: "scrollUp", code: "PageUp", shown: "Page ↑" },
  { action: "scrollDown", code: "PageDown", shown: "Page ↓" },
  { action: "focus", code: "KeyF", shown: "F" },
  { action: "zoomToArea", code: "KeyZ", shift: true, shown: "Shift Z" },
  { action: "undoZoom", code: "Backspace", shown: "Backspace" },
  { action: "reset", code: "Digit0", control: true, shown: "Ctrl 0" },
  { action: "mark", code: "KeyM", shown: "M" },
  { action: "flag", code: "KeyK", shown: "K" },
  { action: "nextSlice", key: ".", shown: "." },
  { action: "previousSlice", key: ",", shown: "," },
  { action: "parentSlice", key: "p", shown: "P" },
  { action: "nextTask", key: "]", shown: "]" },
  { action: "previousTask", key: "[", shown: "[" },
  { action: "search", key: "/", shown: "/" },
  { action: "nextHit", code: "Enter", shift: false, shown: "Enter" },
  { action: "previousHit", code: "Enter", shift: true, shown: "Shift Enter" },
  { action: "togglePanel", code: "KeyQ", shown: "Q" },
  { action: "clear", code: "Escape", shown: "Esc" },
  { action: "help", key: "?", shown: "?" },
] as const satisfies readonly Binding<string>[];

export type Action = (typeof TABLE)[number]["action"];

const BINDINGS: readonly Binding<Action>[] = TABLE;

export type KeyPress = Pick<KeyboardEvent, "code" | "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** The action of a key press, or null if the timeline does not use the key. */
export function actionOf(press: KeyPress): Action | null {
  const control = press.ctrlKey || press.metaKey;
  if (press.altKey) return null;
  for (const binding of BINDINGS) {
    if ((binding.control ?? false) !== control) continue;
    if (binding.shift !== undefined && binding.shift !== press.shiftKey) continue;
    if (binding.code ? binding.code === press.code : binding.key === press.key) return binding.action;
  }
  return null;
}

export function isHeld(action: Action): action is HeldAction {
  return action === "zoomIn" || action === "zoomOut" || action === "panLeft" || action === "panRight";
}

/** True if `target` takes typed text (a field, a menu). */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Actions in order, each with its keys for the help. */
export function helpRows(): { action: Action; keys: string[] }[] {
  const rows = new Map<Action, string[]>();
  for (const { action, shown } of BINDINGS) {
    if (shown) rows.set(action, [...(rows.get(action) ?? []), shown]);
  }
  return [...rows].map(([action, keys]) => ({ action, keys }));
}
