/** Adds a style sheet (a `?inline` CSS import) to the page. */
export function addStyle(css: string): void {
  const element = document.createElement("style");
  element.textContent = css;
  document.head.append(element);
}
