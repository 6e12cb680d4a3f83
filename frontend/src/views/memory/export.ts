import type { TableJson } from "../../api/types.gen";
import type { Series } from "./series";

/** Records of the lines as CSV: one row per record, time in ns after base_ns, size in bytes. */
export function curvesCsv(series: readonly Series[]): string {
  const lines = ["curve,time_ns,bytes"];
  for (const { label, time, values } of series) {
    time.forEach((moment, at) => {
      lines.push(`${quoted(label)},${moment},${values[at] ?? ""}`);
    });
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** All rows of a table that is here whole, every digit; headers are the column keys. */
export function tableCsv(table: TableJson): string {
  const keys = table.columns.map((column) => column.key);
  const lines = [keys.join(",")];
  for (let row = 0; row < table.rows; row++) {
    lines.push(keys.map((key) => quoted(String(table.data[key]?.[row] ?? ""))).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveCsv(text: string, name: string): void {
  save(new Blob([text], { type: "text/csv" }), `${name}.csv`);
}

/** Save a drawing as it looks, at twice its size. */
export async function savePng(svg: SVGSVGElement | null, name: string): Promise<void> {
  if (!svg) return;
  const { width, height } = svg.getBoundingClientRect();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(styled(svg)))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`), "image/png");
}

const STYLES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "paint-order",
  "font-size",
  "font-family",
  "opacity",
] as const;

/** A copy that carries its colours with it: outside the page there is no style sheet. */
function styled(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const originals = svg.querySelectorAll<SVGElement>("path, line, text, rect");
  copy.querySelectorAll<SVGElement>("path, line, text, rect").forEach((element, at) => {
    const original = originals[at];
    if (!original) return;
    const style = getComputedStyle(original);
    for (const name of STYLES) element.style.setProperty(name, style.getPropertyValue(name));
  });
  return copy;
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
