/** Access to localStorage, which may be forbidden (third-party frames, private windows). */
const PREFIX = "npu_profiler.";

export function readStored(key: string): string {
  try {
    return localStorage.getItem(PREFIX + key) ?? "";
  } catch {
    return "";
  }
}

export function store(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    // the choice then lasts as long as the page
  }
}
