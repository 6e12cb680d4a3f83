/**
 * Replaces the reading on screen by a newer reading of the same trace. The old one stays until the new one's first view
 * is loaded.
 */

import type { TimelineData } from "./data";
import { Loader, visibleRequest } from "./loader";
import type { LayoutState } from "./rows";
import { partsOfTrace, type Scene, timeWidth } from "./scene";
import type { View } from "./viewport";

/** The old reading is replaced after this time (ms), even if data are still missing. */
const PATIENCE_MS = 2000;

export interface Change {
  data: TimelineData;
  /** Folded and pinned rows, by track numbers of the new reading. */
  layoutState: () => LayoutState;
  /** Kinds of visible arrows, by indices of the new reading. */
  arrows: () => readonly number[];
  /** Offset to add to a time of the old reading, ns. */
  shift: number;
  /** Called at the swap, before drawing: ids and times of the old reading are void from then on. */
  done: () => void;
}

export class Renewal {
  readonly loader: Loader;
  private readonly timer: ReturnType<typeof setTimeout>;
  private isOver = false;

  /** `swap` is called once, when the new reading can be shown. */
  constructor(
    readonly change: Change,
    scene: Scene,
    view: View,
    hooks: { drawn: () => void; failed: (error: unknown) => void },
    private readonly swap: () => void,
  ) {
    const { source, base, limits } = change.data;
    this.loader = new Loader(
      source,
      base,
      limits,
      () => (this.isOver ? hooks.drawn() : this.check()),
      (error) => hooks.failed(error),
    );
    const isHidden = scene.height === 0; // a hidden tab cannot flash
    this.timer = setTimeout(() => this.finish(), isHidden ? 0 : PATIENCE_MS);
    if (isHidden) return;
    const next = sceneOf(scene, change, this.loader, view);
    this.loader.overview(next.minimapRows, timeWidth(scene), scene.ratio);
    this.loader.want(visibleRequest(next));
  }

  /** Cancels: another reading replaces this one. */
  stop(): void {
    clearTimeout(this.timer);
    this.isOver = true;
    this.loader.stop();
  }

  private check(): void {
    if (this.loader.idle) this.finish();
  }

  private finish(): void {
    if (this.isOver) return;
    clearTimeout(this.timer);
    this.isOver = true;
    this.swap();
  }
}

/** The scene with the data of another reading. */
export function sceneOf(scene: Scene, change: Change, loader: Loader, view: View): Scene {
  const parts = partsOfTrace({ ...change.data, caches: loader.caches }, change.layoutState());
  return { ...scene, ...parts, arrows: change.arrows(), view, hover: null, hoverItem: null };
}
