/** The painters of the three stacked canvases. */

import type { Scene } from "../scene";
import type { Surface } from "../surface";
import { ArrowPainter } from "./arrows";
import { GutterPainter } from "./gutter";
import { OverlayPainter } from "./overlay";
import { RowPainter } from "./rows";
import { TopPainter } from "./top";

export class Painters {
  private readonly rows: RowPainter;
  private readonly arrows: ArrowPainter;
  private readonly gutter: GutterPainter;
  private readonly overlay: OverlayPainter;
  private readonly top: TopPainter;

  constructor({ contexts }: Surface) {
    this.rows = new RowPainter(contexts.base);
    this.arrows = new ArrowPainter(contexts.base);
    this.gutter = new GutterPainter(contexts.base);
    this.overlay = new OverlayPainter(contexts.overlay);
    this.top = new TopPainter(contexts.top);
  }

  /** Paints the rows; returns the number of arrows. */
  base(scene: Scene): number {
    this.rows.paint(scene);
    const arrows = this.arrows.paint(scene);
    this.gutter.paint(scene);
    return arrows;
  }

  /** Paints the overlay above the rows. */
  over(scene: Scene): void {
    this.top.paint(scene);
    this.overlay.paint(scene);
  }

  /** Remeasures texts after fonts were loaded. */
  forgetWidths(): void {
    this.rows.forgetWidths();
    this.gutter.forgetWidths();
    this.top.forgetWidths();
  }
}
