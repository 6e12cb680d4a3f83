/** Downloads of files created in the page. */

export function saveCsv(text: string, name: string): void {
  save(new Blob([text], { type: "text/csv" }), `${name}.csv`);
}

export function saveJson(text: string, name: string): void {
  save(new Blob([text], { type: "application/json" }), `${name}.json`);
}

/** Saves a canvas as a picture. */
export function saveCanvas(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`), "image/png");
}

/** Saves a part of the page as a picture of twice its size; scrolled content is shown in full. */
export async function savePng(element: HTMLElement | null, name: string): Promise<void> {
  if (!element) return;
  const { width } = element.getBoundingClientRect();
  const height = element.offsetHeight + hiddenHeight(element);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing(element, width, height))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  saveCanvas(canvas, name);
}

/** Height of the content hidden by scrolling. */
function hiddenHeight(element: HTMLElement): number {
  const parts = [...element.querySelectorAll<HTMLElement>("*")];
  return parts.reduce((sum, part) => {
    const isScrolling = getComputedStyle(part).overflowY === "auto";
    return sum + (isScrolling ? Math.max(0, part.scrollHeight - part.clientHeight) : 0);
  }, 0);
}

/** A picture has no scrolling and no buttons. */
const PICTURE = `
  .picture *, .picture .table-scroll { max-height: none !important; overflow: visible !important; }
  .picture .ellipsis, .picture .cell { overflow: hidden !important; }
  .picture .card-head .control, .picture .card-head .help { display: none !important; }
  .picture > * { border: 0 !important; margin: 0 !important; }`;

/** The element as a self-contained SVG with the page's style sheets. */
function drawing(element: HTMLElement, width: number, height: number): string {
  const styles = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText));
  const { fontFamily, fontSize, lineHeight, color } = getComputedStyle(element);
  const page = document.createElement("div");
  page.className = "picture";
  Object.assign(page.style, { width: `${width}px`, fontFamily, fontSize, lineHeight, color });
  const style = document.createElement("style");
  style.textContent = styles.join("\n") + PICTURE;
  page.append(style, element.cloneNode(true));
  const inside = new XMLSerializer().serializeToString(page);
  const theme = document.documentElement.dataset.theme ?? "light";
  return `<svg xmlns="http://www.w3.org/2000/svg" data-theme="${theme}" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${inside}</foreignObject></svg>`;
}

function save(blob: Blob, name: string): void {
  const link = outerPage().createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * The document that starts downloads: Firefox treats a download as navigation, and frame-src of TensorBoard's page
 * blocks it in a frame.
 */
function outerPage(): Document {
  try {
    return window.parent.document;
  } catch {
    return document; // a notebook's page, of another origin
  }
}
