/** The elements of the timeline: a strip of ruler above rows that scroll under two canvases. */

import { TOP_HEIGHT } from "./paint/top";

export interface Surface {
  top: HTMLCanvasElement;
  /** Between ruler and rows, for the view's own elements. */
  slot: HTMLElement;
  /** Scrolls vertically; its size is the size of the rows. */
  scroller: HTMLElement;
  /** Gives the scroller its height. */
  spacer: HTMLElement;
  stage: HTMLElement;
  base: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
  contexts: Record<"top" | "base" | "overlay", CanvasRenderingContext2D>;
}

function add<Tag extends "canvas" | "div">(tag: Tag, name: string, parent: HTMLElement): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = `tl-${name}`;
  parent.append(element);
  return element;
}

function contextOf(element: HTMLCanvasElement, alpha: boolean): CanvasRenderingContext2D {
  const context = element.getContext("2d", { alpha });
  if (!context) throw new Error("this browser gives no 2D canvas");
  return context;
}

export function makeSurface(root: HTMLElement): Surface {
  const top = add("canvas", "top", root);
  const slot = add("div", "slot", root);
  const scroller = add("div", "scroll", root);
  scroller.tabIndex = -1; // browsers move the focus into scrollers; the keys belong to the root
  const spacer = add("div", "space", scroller);
  const stage = add("div", "stage", spacer);
  const base = add("canvas", "base", stage);
  const overlay = add("canvas", "overlay", stage);
  const contexts = { top: contextOf(top, false), base: contextOf(base, false), overlay: contextOf(overlay, true) };
  return { top, slot, scroller, spacer, stage, base, overlay, contexts };
}

/** Sets the size of a canvas in CSS pixels. Changes the device pixels only if they differ: that clears the canvas. */
export function resizeCanvas(element: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const [across, down] = [Math.max(Math.round(width * ratio), 1), Math.max(Math.round(height * ratio), 1)];
  if (element.width !== across) element.width = across;
  if (element.height !== down) element.height = down;
  // Also if the device pixels stay: a page zoomed by 2 has half as many CSS pixels of twice the size.
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
}

/** Size of the part with the rows. Zero while TensorBoard hides the tab by giving the frame no height. */
export function measure(surface: Surface): { width: number; height: number } {
  if (window.innerHeight === 0) return { width: 0, height: 0 };
  return { width: surface.scroller.clientWidth, height: surface.scroller.clientHeight };
}

export function resizeAll(surface: Surface, width: number, height: number, ratio: number): void {
  resizeCanvas(surface.top, width, TOP_HEIGHT, ratio);
  resizeCanvas(surface.base, width, height, ratio);
  resizeCanvas(surface.overlay, width, height, ratio);
  surface.stage.style.height = `${height}px`;
}
