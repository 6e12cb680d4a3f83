import { signal } from "@preact/signals";
import { formatHash, type Params, PLUGIN, parseHash } from "./url";

/**
 * The state that a link carries, in the URL hash of TensorBoard's page (of this page if that one is not accessible).
 * TensorBoard drops these keys when the user opens another tab: they stay in memory and are restored when the plugin's
 * tab is shown again.
 */
const host: Window = reachableParent() ?? window;
let away = false;

export const params = signal<Params>(parseHash(host.location.hash).params);

/** Counts external changes of the URL (Back, Forward, an edit), after which state derived from it is outdated. */
export const visits = signal(0);

/** Value of a parameter, "" if not set. Subscribes the calling component. */
export function param(key: string): string {
  return params.value[key] ?? "";
}

/**
 * Changes parameters; null or "" removes one. `push` adds a history entry, for a change of view, run, worker or span,
 * but not for sort orders or typed text.
 */
export function setParams(changes: Readonly<Record<string, string | null>>, push = false): void {
  const before = params.peek();
  const next = withChanges(before, changes);
  if (JSON.stringify(next) === JSON.stringify(before)) return;
  params.value = next;
  if (isOurTab()) write(push, before);
}

function withChanges(before: Params, changes: Readonly<Record<string, string | null>>): Params {
  const all = Object.entries({ ...before, ...changes });
  return Object.fromEntries(all.flatMap(([key, value]) => (value ? [[key, value]] : [])));
}

/** Address of the page with these changes, for links. Subscribes the calling component. */
export function addressOf(changes: Readonly<Record<string, string | null>>): string {
  const { pathname, search, hash } = host.location;
  return pathname + search + formatHash(hash, withChanges(params.value, changes));
}

function isOurTab(): boolean {
  const { tab } = parseHash(host.location.hash);
  return host === window || tab === "" || tab === PLUGIN;
}

/** Least time (ms) between two URL changes: browsers refuse more than 100 to 200 within 30 s, and a drag makes more. */
const URL_MS = 150;
let pending: ReturnType<typeof setTimeout> | undefined;

/** `before`: what the history entry holds that a push leaves. */
function write(push: boolean, before: Params): void {
  if (push && pending !== undefined) writeNow(false, before);
  clearTimeout(pending);
  pending = undefined;
  if (push) writeNow(true);
  else pending = setTimeout(writeLater, URL_MS);
}

function writeLater(): void {
  pending = undefined;
  if (isOurTab()) writeNow(false);
}

function writeNow(push: boolean, written = params.peek()): void {
  const { pathname, search, hash } = host.location;
  const url = pathname + search + formatHash(hash, written);
  if (push) host.history.pushState(host.history.state, "", url);
  else host.history.replaceState(host.history.state, "", url);
}

function onHashChange(): void {
  if (!isOurTab()) {
    away = true;
    return;
  }
  const found = parseHash(host.location.hash).params;
  const isBare = Object.keys(found).length === 0;
  if (away && isBare) writeNow(false);
  else {
    if (JSON.stringify(found) !== JSON.stringify(params.peek())) visits.value += 1;
    params.value = found;
  }
  away = false;
}

/** Follows Back, Forward and edits of the URL. Returns a function that stops it. */
export function followUrl(): () => void {
  host.addEventListener("hashchange", onHashChange);
  const stop = () => host.removeEventListener("hashchange", onHashChange);
  window.addEventListener("pagehide", stop);
  return stop;
}

function reachableParent(): Window | null {
  try {
    return window.parent !== window && typeof window.parent.location.hash === "string" ? window.parent : null;
  } catch {
    return null; // framed by a page of another origin
  }
}

/** The embedding page if accessible, for its colour mode. */
export function parentDocument(): Document | null {
  return host === window ? null : host.document;
}
