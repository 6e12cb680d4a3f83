/** The timeline as a picture. */

/** All canvases of the timeline as they are on the page, in device pixels. `background`: a CSS colour. */
export function pictureOf(root: HTMLElement, background: string): HTMLCanvasElement {
  const ratio = window.devicePixelRatio || 1;
  const frame = root.getBoundingClientRect();
  const picture = document.createElement("canvas");
  picture.width = Math.round(frame.width * ratio);
  picture.height = Math.round(frame.height * ratio);
  const context = picture.getContext("2d");
  if (!context) return picture;
  context.fillStyle = background;
  context.fillRect(0, 0, picture.width, picture.height);
  for (const canvas of root.querySelectorAll("canvas")) {
    const box = canvas.getBoundingClientRect();
    context.drawImage(
      canvas,
      Math.round((box.left - frame.left) * ratio),
      Math.round((box.top - frame.top) * ratio),
      Math.round(box.width * ratio),
      Math.round(box.height * ratio),
    );
  }
  return picture;
}
