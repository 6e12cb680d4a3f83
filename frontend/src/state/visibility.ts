import { signal } from "@preact/signals";

/**
 * True while the plugin's tab is shown. TensorBoard hides a tab by giving its frame no height; `visibilityState` stays
 * "visible", so only the size shows it.
 */
export const shown = signal(true);

export function followVisibility(): void {
  const read = () => (shown.value = window.innerHeight > 0 && document.visibilityState !== "hidden");
  read();
  window.addEventListener("resize", read);
  document.addEventListener("visibilitychange", read);
}
