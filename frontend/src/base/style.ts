/** Put a style sheet (a `?inline` CSS import) into the page once; TensorBoard's page has none of ours. */
export function addStyle(css: string): void {
  const element = document.createElement("style");
  element.textContent = css;
  document.head.append(element);
}
