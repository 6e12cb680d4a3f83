/** Width of a text in px; an estimate without a canvas. */
let context: CanvasRenderingContext2D | null | undefined;
let fonts: { sans: string; mono: string } | undefined;

export function textWidth(text: string, face: "sans" | "mono", size: number): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * size * 0.6;
  const families = fontFamilies();
  const font = `${size}px ${families[face]}`;
  if (context.font !== font) context.font = font;
  return context.measureText(text).width;
}

function fontFamilies(): { sans: string; mono: string } {
  if (!fonts) {
    const style = getComputedStyle(document.documentElement);
    fonts = {
      sans: style.getPropertyValue("--sans") || "sans-serif",
      mono: style.getPropertyValue("--mono") || "monospace",
    };
  }
  return fonts;
}
