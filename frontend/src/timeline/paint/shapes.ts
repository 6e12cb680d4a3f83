/** Shapes and texts on a canvas, in CSS pixels. */

type Context = CanvasRenderingContext2D;

/** Limits what is painted to a rectangle, until the context is restored. */
export function clip(context: Context, x: number, y: number, width: number, height: number): void {
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
}

export function fillBox(context: Context, colour: string, x: number, y: number, width: number, height: number): void {
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
}

export function fillText(context: Context, colour: string, text: string, x: number, y: number): void {
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** A path through points, given by x and y of each, relative to the place (x, y). */
export function trace(context: Context, x: number, y: number, ...points: number[]): void {
  for (let at = 0; at < points.length; at += 2) {
    const [dx, dy] = [points[at] as number, points[at + 1] as number];
    if (at === 0) context.moveTo(x + dx, y + dy);
    else context.lineTo(x + dx, y + dy);
  }
}

/** A curve that leaves and arrives horizontally. Its bend is half its width, but at least and at most so many pixels. */
export function curve(
  context: Context,
  [x0, y0, x1, y1]: readonly [number, number, number, number],
  [least, most]: readonly [number, number],
  gap = 0,
): void {
  const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, least), most);
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - gap, y1);
}

/** The head of an arrow to the right whose tip is at (x, y). */
export function arrowHead(context: Context, x: number, y: number, size: number): void {
  trace(context, x, y, 0, 0, -size, -size / 2, -size, size / 2);
}
