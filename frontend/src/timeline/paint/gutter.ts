/** The column on the left: names of processes and threads, with signs to fold and pin them. */

import { BAR, HEADER_HEIGHT, type ProcessItem, type TrackItem, trackLabel } from "../rows";
import { itemsOf, type Scene, sections } from "../scene";
import { HEADER_FONT, LABEL_FONT } from "../theme";
import { clip, fillBox, trace } from "./shapes";
import { TextFitter } from "./text";

const INDENT = 20;
/** Width of the pin button, at the right end of the column. */
export const PIN_WIDTH = 22;

export class GutterPainter {
  private readonly fitter: TextFitter;
  private readonly headers: TextFitter;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.fitter = new TextFitter(context);
    this.headers = new TextFitter(context);
  }

  paint(scene: Scene): void {
    const { context } = this;
    const { theme, gutter, height, width } = scene;
    fillBox(context, theme.surfaceText, 0, 0, gutter, height);
    // Drawn before the process names, which may overlap it.
    fillBox(context, theme.line, gutter - 1, 0, 1, height);
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const section of sections(scene)) {
      context.save();
      clip(context, 0, section.top, width, section.bottom - section.top);
      for (const item of itemsOf(section)) {
        const y = item.y + section.shift;
        if (item.kind === "process") this.paintProcess(scene, item, y);
        else this.paintTrack(scene, item, y, section.items === scene.layout.pinned);
      }
      context.restore();
    }
    const split = sections(scene)[1]?.top ?? 0;
    if (split > 0) {
      fillBox(context, theme.muted, 0, split - 1, width, 1);
    }
  }

  forgetWidths(): void {
    this.fitter.forget();
    this.headers.forget();
  }

  private paintProcess(scene: Scene, item: ProcessItem, y: number): void {
    const { context } = this;
    const { theme, gutter } = scene;
    fillBox(context, theme.band, 0, y, gutter, HEADER_HEIGHT);
    paintArrow(context, 9, y + HEADER_HEIGHT / 2, item.collapsed, theme.text);
    context.font = HEADER_FONT;
    context.fillStyle = theme.text;
    const title = [item.process.rank, item.process.name].filter(Boolean).join(" · ");
    const name = this.headers.fit(title, scene.width - INDENT);
    context.fillText(name, INDENT - 2, y + HEADER_HEIGHT / 2 + 0.5);
    const after = INDENT + 6 + this.headers.width(name);
    context.font = LABEL_FONT;
    context.fillStyle = theme.muted;
    const hasRows = item.process.threads.some((thread) => thread.rows > 0); // derived ones are computed when unfolded
    const more = [item.process.label, item.collapsed && hasRows ? `${item.threads} …` : ""].filter(Boolean).join(" · ");
    context.fillText(this.fitter.fit(more, scene.width - after), after, y + HEADER_HEIGHT / 2 + 0.5);
  }

  private paintTrack(scene: Scene, item: TrackItem, y: number, withProcess: boolean): void {
    const { context } = this;
    const { theme, gutter } = scene;
    const hovered = scene.hoverItem === item;
    const middle = y + BAR / 2 + 1;
    context.font = LABEL_FONT;
    context.fillStyle = hovered ? theme.text : theme.muted;
    const owner = item.process.rank ?? item.process.name;
    const name = withProcess ? `${owner} · ${trackLabel(item.thread)}` : trackLabel(item.thread);
    const room = gutter - INDENT - 6 - (hovered || item.pinned ? PIN_WIDTH - 6 : 0);
    context.fillText(this.fitter.fitEnds(name, room), INDENT, middle);
    if (item.thread.rows > 1 || item.thread.kind === "counter") {
      paintArrow(context, 12, middle, item.collapsed, theme.muted);
    }
    if (hovered || item.pinned)
      paintPin(context, gutter - PIN_WIDTH / 2 - 3, middle, item.pinned, theme.accent, theme.muted);
  }
}

function paintArrow(context: CanvasRenderingContext2D, x: number, y: number, collapsed: boolean, colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  if (collapsed) trace(context, x, y, -2, -4, 3, 0, -2, 4);
  else trace(context, x, y, -4, -2, 4, -2, 0, 3);
  context.fill();
}

function paintPin(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  pinned: boolean,
  on: string,
  off: string,
): void {
  context.strokeStyle = pinned ? on : off;
  context.fillStyle = on;
  context.beginPath();
  trace(context, x, y, -3, -5, 3, -5, 2, -1, 4, 1, -4, 1, -2, -1);
  context.closePath();
  if (pinned) context.fill();
  context.moveTo(x, y + 1);
  context.lineTo(x, y + 5);
  context.stroke();
}
