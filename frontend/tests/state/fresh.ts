import { vi } from "vitest";

/** TensorBoard's page around the plugin's frame. */
export class HostPage extends EventTarget {
  readonly document = { body: document.createElement("body") };
  readonly location = { hash: "", pathname: "/tb/", search: "?x=1" };
  /** URLs of its history; the last is the current one. */
  readonly urls: string[] = [];
  readonly history = {
    state: null,
    pushState: (_state: unknown, _title: string, url: string) => this.show(url, this.urls.length),
    replaceState: (_state: unknown, _title: string, url: string) => this.show(url, Math.max(0, this.urls.length - 1)),
  };
  readonly postMessage = vi.fn();

  private show(url: string, at: number): void {
    this.urls[at] = url;
    this.location.hash = url.slice(url.indexOf("#"));
  }

  /** Back, Forward, an edit of the URL, or another tab. */
  go(hash: string): void {
    this.location.hash = hash;
    this.dispatchEvent(new Event("hashchange"));
  }
}

/** Loads a module of src/state anew, within this page (default: without TensorBoard); undone by `leavePage`. */
export async function within<T>(load: () => Promise<T>, parent: unknown = window): Promise<T> {
  Object.defineProperty(window, "parent", { value: parent, configurable: true, writable: true });
  vi.resetModules();
  return load();
}

export function leavePage(): void {
  Object.defineProperty(window, "parent", { value: window, configurable: true, writable: true });
  vi.resetModules();
}
