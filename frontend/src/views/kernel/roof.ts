import type { Device, RooflinePoint } from "../../api/types.gen";
import { linear, type Scale } from "../../widgets/scale";

/** A point of the roofline plot. */
export interface Dot {
  point: RooflinePoint;
  /** FLOPs per byte of the least traffic. */
  intensity: number;
  /** FLOPs per second. */
  rate: number;
}

/** The kernels of the plot; those without traffic are left out. */
export function dotsOf(points: readonly RooflinePoint[]): Dot[] {
  return points
    .filter((point) => point.least_bytes > 0 && point.total_ns > 0 && point.gflops > 0)
    .map((point) => ({
      point,
      intensity: (point.gflops * 1e9) / point.least_bytes,
      rate: (point.gflops * 1e18 * point.calls) / point.total_ns,
    }));
}

/** Both axes in decades: powers of ten. */
export interface Axes {
  x: Scale;
  y: Scale;
}

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Axes that hold all points, the peak and the ridge, in whole decades. */
export function axesOf(dots: readonly Dot[], device: Device, frame: Frame): Axes {
  const { peak_flops: peak, bandwidth } = device;
  const ridge = peak !== null && bandwidth !== null ? [peak / bandwidth] : [];
  const [left, right] = decades([...dots.map((dot) => dot.intensity), ...ridge]);
  const [low, high] = decades([...dots.map((dot) => dot.rate), ...(peak === null ? [] : [peak])]);
  return { x: linear(left, right, frame.left, frame.right), y: linear(low, high, frame.bottom, frame.top) };
}

function decades(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1];
  const logs = values.map(Math.log10);
  const from = Math.floor(Math.min(...logs));
  return [from, Math.max(from + 1, Math.ceil(Math.max(...logs)))];
}

/** Exponents of the powers of ten on an axis. */
export function decadesOf({ from, to }: Scale): number[] {
  return Array.from({ length: Math.round(to - from) + 1 }, (_, index) => Math.round(from) + index);
}

/** The roof as an SVG path: along the bandwidth up to the ridge, then along the peak. Empty without a peak. */
export function roofPath({ x, y }: Axes, { peak_flops: peak, bandwidth }: Device): string {
  if (peak === null) return "";
  const top = y.pixel(Math.log10(peak));
  const right = `H${round(x.pixel(x.to))}`;
  if (bandwidth === null) return `M${round(x.pixel(x.from))},${round(top)}${right}`;
  const ridge = Math.log10(peak / bandwidth);
  // Where the bandwidth meets the left edge or the bottom.
  const start = Math.max(x.from, y.from - Math.log10(bandwidth));
  const begin = y.pixel(start + Math.log10(bandwidth));
  return `M${round(x.pixel(start))},${round(begin)}L${round(x.pixel(ridge))},${round(top)}${right}`;
}

export const round = (pixel: number) => Math.round(pixel * 100) / 100;

/** A figure that the user typed, as a parameter: null if it is none. */
export function figureOf(text: string): string | null {
  const value = Number(text);
  return text.trim() !== "" && value > 0 && value < 1e9 ? String(value) : null;
}
