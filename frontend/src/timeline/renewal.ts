/**
 * Another reading of the same trace comes into the place of the one on screen: its first view is fetched while the old
 * one stays, then both change places at once.
 */

import type { TimelineData } from "./data";
import { Loader } from "./loader";
import { type LayoutState, layOut } from "./rows";
import { minimapRows, type Scene, timeWidth } from "./scene";
import type { View } from "./viewport";
import { visibleRequest } from "./visible_request";

/** The old reading gives way after this even where not all has come. */
const PATIENCE_MS = 2000;

export interface Change {
  data: TimelineData;
  /** What is folded and pinned, in the new numbers of tracks. */
  layoutState: () => LayoutState;
  /** Kinds of arrows on show, in the new numbers. */
  arrows: () => readonly number[];
  /** What to add to a time of the old reading, ns. */
  shift: number;
  /** Called in the moment of the change, before anything is drawn: ids and times of the old reading are void now. */
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
    const isHidden = scene.height === 0; // it shows nothing that could flash
    this.timer = setTimeout(() => this.finish(), isHidden ? 0 : PATIENCE_MS);
    if (isHidden) return;
    const next = sceneOf(scene, change, this.loader, view);
    this.loader.overview(next.minimapRows, timeWidth(scene), scene.ratio);
    this.loader.want(visibleRequest(next));
  }

  /** Another one takes its place. */
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

/** The scene with another reading in it. */
export function sceneOf(scene: Scene, change: Change, loader: Loader, view: View): Scene {
  const { processes, limits, zero, flowKinds } = change.data;
  const layoutState = change.layoutState();
  return {
    ...scene,
    processes,
    limits,
    zero,
    flowKinds,
    layoutState,
    layout: layOut(processes, layoutState),
    caches: loader.caches,
    arrows: change.arrows(),
    minimapRows: minimapRows(processes),
    view,
    hover: null,
    hoverItem: null,
  };
}
