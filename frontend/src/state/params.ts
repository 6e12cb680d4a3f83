import { signal } from "@preact/signals";
import { formatHash, type Params, PLUGIN, parseHash } from "./url";

/**
 * All state that a link must carry, mirrored in the hash of TensorBoard's page (our own page's where that one cannot be
 * reached). TensorBoard drops our keys when the user opens another tab: they stay in memory and are written again when
 * ours is back.
 */
const host: Window = reachableParent() ?? window;
let away = false;

export const params = signal<Params>(parseHash(host.location.hash).params);

/** Grows with each change of the address that is not ours (Back, Forward, an edit): what was read from it is old then. */
export const visits = signal(0);

/** Value of a parameter, "" where it is not set. Subscribes the component that asks. */
export function param(key: string): string {
  return params.value[key] ?? "";
}

/**
 * Change parameters; null or "" removes one. `push` adds a step for the Back button: for what a user would call
 * "another page" (view, run, worker, span), not for sort orders or texts under way.
 */
export function setParams(changes: Readonly<Record<string, string | null>>, push = false): void {
  const next: Record<string, string> = { ...params.peek() };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") delete next[key];
    else next[key] = value;
  }
  if (JSON.stringify(next) === JSON.stringify(params.peek())) return;
  params.value = next;
  if (isOurTab()) write(push);
}

function isOurTab(): boolean {
  const { tab } = parseHash(host.location.hash);
  return host === window || tab === "" || tab === PLUGIN;
}

/** Browsers refuse more than a hundred or two changes of the address within 30 s; a drag makes more. */
const CALM_MS = 150;
let pending: ReturnType<typeof setTimeout> | undefined;

function write(push: boolean): void {
  clearTimeout(pending);
  if (push) writeNow(true);
  else pending = setTimeout(() => isOurTab() && writeNow(false), CALM_MS);
}

function writeNow(push: boolean): void {
  const { pathname, search, hash } = host.location;
  const url = pathname + search + formatHash(hash, params.peek());
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

/** Follow Back, Forward and edits of the address. Returns how to stop. */
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

/** The page around ours, where it can be reached: for its colour mode. */
export function parentDocument(): Document | null {
  return host === window ? null : host.document;
}
