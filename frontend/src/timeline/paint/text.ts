/** Text cut to a width. Widths are measured once per text. */

const ELLIPSIS = "…";
const MOST = 20_000;

export class TextFitter {
  private widths = new Map<string, number>();

  constructor(private readonly context: CanvasRenderingContext2D) {}

  width(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > MOST) this.widths.clear();
      width = this.context.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  /** Clears the widths after a change of fonts. */
  forget(): void {
    this.widths.clear();
  }

  /** `text`, shortened with an ellipsis to fit; "" if not even two letters fit. */
  fit(text: string, room: number): string {
    const width = this.width(text);
    if (width <= room) return text;
    let count = Math.floor(((room - this.width(ELLIPSIS)) / width) * text.length);
    while (count >= 2 && this.width(text.slice(0, count)) + this.width(ELLIPSIS) > room) count -= 1;
    return count >= 2 ? text.slice(0, count) + ELLIPSIS : "";
  }

  /** `text`, shortened in the middle to fit: names of rows often differ in their ends. "" if not even two letters fit. */
  fitEnds(text: string, room: number): string {
    const width = this.width(text);
    if (width <= room) return text;
    for (let count = Math.floor((room / width) * text.length); count >= 2; count -= 1) {
      const tail = Math.floor(count / 2);
      const cut = text.slice(0, count - tail) + ELLIPSIS + text.slice(text.length - tail);
      if (this.width(cut) <= room) return cut;
    }
    return "";
  }
}
