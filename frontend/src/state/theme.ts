import { computed, effect, signal } from "@preact/signals";
import { parentDocument } from "./params";
import { readStored, store } from "./storage";

export type Theme = "light" | "dark";

/** The user's choice; "" follows TensorBoard. */
export const themeChoice = signal<Theme | "">(asTheme(readStored("theme")));
const hostTheme = signal<Theme>("light");
export const theme = computed<Theme>(() => themeChoice.value || hostTheme.value);

function asTheme(text: string): Theme | "" {
  return text === "light" || text === "dark" ? text : "";
}

export function chooseTheme(choice: Theme | ""): void {
  themeChoice.value = choice;
  store("theme", choice);
}

/** Follows TensorBoard's `dark-mode` class (without TensorBoard the system's preference). */
export function followTheme(): void {
  const body = parentDocument()?.body;
  if (body) {
    const read = () => (hostTheme.value = body.classList.contains("dark-mode") ? "dark" : "light");
    read();
    new MutationObserver(read).observe(body, { attributes: true, attributeFilter: ["class"] });
  } else {
    const query = window.matchMedia("(prefers-color-scheme: dark)");
    const read = () => (hostTheme.value = query.matches ? "dark" : "light");
    read();
    query.addEventListener("change", read);
  }
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}
