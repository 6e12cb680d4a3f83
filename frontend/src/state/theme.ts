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
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const read = () => {
    const isDark = body ? body.classList.contains("dark-mode") : query.matches;
    hostTheme.value = isDark ? "dark" : "light";
  };
  read();
  if (body) new MutationObserver(read).observe(body, { attributes: true, attributeFilter: ["class"] });
  else query.addEventListener("change", read);
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}
