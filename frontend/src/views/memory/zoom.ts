import { getView } from "../../api/client";
import type { CurveJson, MemoryJson } from "../../api/types.gen";
import { useRequest } from "../../state/use_request";
import { isThinned } from "./series";

export type Range = readonly [number, number];

/**
 * The data with detailed curves of the visible range. The coarse curves stay until those arrive, if nothing was
 * thinned, and after a failed request.
 */
export function useDetail(data: MemoryJson, span: string, device: string, range: Range | null): MemoryJson {
  const isNeeded = range !== null && isThinned(data);
  const ask = (signal: AbortSignal) =>
    getView("memory", { span, device, t0: range?.[0], t1: range?.[1], points: DETAIL_POINTS }, signal);
  const { value } = useRequest([span, device, range?.[0], range?.[1]], isNeeded ? ask : null);
  if (value?.state !== "ready" || !value.data) return data;
  const { curves, module_curves } = value.data as unknown as MemoryJson;
  return { ...data, curves: merge(data.curves, curves), module_curves: merge(data.module_curves, module_curves) };
}

/** Largest number of points of a curve on screen: several per pixel. */
const DETAIL_POINTS = 8000;

/** Replaces coarse curves by detailed ones of the same component and device. */
function merge(coarse: readonly CurveJson[], fine: readonly CurveJson[]): CurveJson[] {
  const found = new Map(fine.map((curve) => [`${curve.component} ${curve.device}`, curve]));
  return coarse.map((curve) => found.get(`${curve.component} ${curve.device}`) ?? curve);
}

/** A range from the URL ("from_to" in ns); null if absent or malformed. */
export function parseRange(text: string): Range | null {
  const found = /^(-?\d+)_(-?\d+)$/.exec(text);
  if (!found) return null;
  const range: Range = [Number(found[1]), Number(found[2])];
  return range[1] > range[0] ? range : null;
}

/** A range "start,end" in ns since 1970, as ns after `baseNs`; null if absent or malformed. */
export function rangeWithin(text: string, baseNs: string): Range | null {
  const found = /^(\d+),(\d+)$/.exec(text);
  if (!found) return null;
  const base = BigInt(baseNs);
  return [Number(BigInt(found[1] as string) - base), Number(BigInt(found[2] as string) - base)];
}

export function formatRange(range: Range | null): string | null {
  return range ? `${range[0]}_${range[1]}` : null;
}
