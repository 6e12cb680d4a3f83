/**
 * Figures as text. All input is exact (integer ns, bytes); rounding happens here only.
 * Unknown (null, undefined, NaN) is "–"; negative zero and exponents never appear.
 */

export const UNKNOWN = "–";
/** Thousands separator: narrow and non-breaking. */
const THIN_SPACE = "\u202f";
const MINUS = "−";

export type Maybe = number | null | undefined;

/** A unit of a column or axis: value / scale, then `name`. */
export interface Unit {
  name: string;
  scale: number;
}

export const TIME_UNITS: readonly Unit[] = [
  { name: "ns", scale: 1 },
  { name: "µs", scale: 1e3 },
  { name: "ms", scale: 1e6 },
  { name: "s", scale: 1e9 },
];

/** Units of points in time, without seconds: those would not distinguish times within a millisecond. */
export const MOMENT_UNITS: readonly Unit[] = TIME_UNITS.slice(0, 3);

export const BYTE_UNITS: readonly Unit[] = [
  { name: "B", scale: 1 },
  { name: "KiB", scale: 1024 },
  { name: "MiB", scale: 1024 ** 2 },
  { name: "GiB", scale: 1024 ** 3 },
  { name: "TiB", scale: 1024 ** 4 },
];

/** For traffic: communication.json counts in 1e6 bytes, as bandwidths do. */
export const TRAFFIC_UNITS: readonly Unit[] = [
  { name: "B", scale: 1 },
  { name: "kB", scale: 1e3 },
  { name: "MB", scale: 1e6 },
  { name: "GB", scale: 1e9 },
  { name: "TB", scale: 1e12 },
];

export function isKnown(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Largest unit in which `largest` is at least 1. */
export function unitFor(units: readonly Unit[], largest: number): Unit {
  let chosen = units[0] as Unit;
  for (const unit of units) if (Math.abs(largest) >= unit.scale) chosen = unit;
  return chosen;
}

/** One unit for a column: that of its largest magnitude. */
export function columnUnit(units: readonly Unit[], values: Iterable<Maybe>): Unit {
  let largest = 0;
  for (const value of values) if (isKnown(value)) largest = Math.max(largest, Math.abs(value));
  return unitFor(units, largest);
}

/** One unit for times. */
export function timeUnit(times: Iterable<Maybe>): Unit {
  return columnUnit(TIME_UNITS, times);
}

/** A value in a unit, without its name; whole in the smallest one. */
export function inUnit(value: Maybe, unit: Unit, decimals = 2): string {
  return fixedDecimals(isKnown(value) ? value / unit.scale : null, unit.scale === 1 ? 0 : decimals);
}

/** Below this (in the unit) the median of a column has too few digits. */
const LEAST_USUAL = 0.05;
/** Above this the largest value has too many digits before the point. */
const MOST_LARGEST = 1e5;

/** As `columnUnit`, but a smaller unit if a few large figures would leave the others without digits. */
export function tableUnit(units: readonly Unit[], values: Iterable<Maybe>): Unit {
  const sizes = [...values].flatMap((value) => (isKnown(value) && value !== 0 ? [Math.abs(value)] : []));
  sizes.sort((a, b) => a - b);
  const usual = sizes[sizes.length >> 1] ?? 0;
  const largest = sizes.at(-1) ?? 0;
  let at = units.indexOf(unitFor(units, largest));
  for (; at > 0; at--) {
    const smaller = units[at - 1] as Unit;
    if (usual >= LEAST_USUAL * (units[at] as Unit).scale || largest >= MOST_LARGEST * smaller.scale) break;
  }
  return units[at] as Unit;
}

/** Fewest decimals (0 to `most`) that write all values exactly in `unit`; `most` if none do. */
export function columnDecimals(values: Iterable<Maybe>, scale: number, most = 3): number {
  let decimals = 0;
  for (const value of values) {
    if (!isKnown(value)) continue;
    const scaled = value / scale;
    while (decimals < most && !isExactAt(scaled, decimals)) decimals++;
    if (decimals === most) break;
  }
  return decimals;
}

function isExactAt(value: number, decimals: number): boolean {
  const shifted = value * 10 ** decimals;
  return Math.abs(shifted - Math.round(shifted)) < 1e-6 * Math.max(1, Math.abs(shifted) * 1e-6);
}

/** Fixed decimals, with thousands separators: 1234.5 → "1 234.500". */
export function fixedDecimals(value: Maybe, decimals = 0): string {
  if (!isKnown(value)) return UNKNOWN;
  const text = Math.abs(value).toFixed(decimals);
  if (text.includes("e")) return value < 0 ? `${MINUS}${text.replace("e+", "e")}` : text.replace("e+", "e");
  const [whole = "0", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
  const isZero = !/[1-9]/.test(text);
  return `${value < 0 && !isZero ? MINUS : ""}${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** As `fixedDecimals`, but a positive figure that rounds to 0 is "< 0.001". */
export function nonZeroDecimals(value: Maybe, decimals = 0): string {
  const least = 10 ** -decimals;
  return isKnown(value) && value > 0 && value < least / 2
    ? `< ${fixedDecimals(least, decimals)}`
    : fixedDecimals(value, decimals);
}

/** A plain integer. */
export function integer(value: Maybe): string {
  return fixedDecimals(value, 0);
}

/** A plain figure: up to `most` decimals, no trailing zeros. */
export function decimal(value: Maybe, most = 3): string {
  if (!isKnown(value)) return UNKNOWN;
  return fixedDecimals(value, columnDecimals([value], 1, most));
}

/** A duration (ns) in its largest unit: "4.840 ms". */
export function duration(ns: Maybe, decimals?: number): string {
  if (!isKnown(ns)) return UNKNOWN;
  const unit = unitFor(TIME_UNITS, ns);
  return `${fixedDecimals(ns / unit.scale, decimals ?? (unit.scale === 1 ? 0 : 3))} ${unit.name}`;
}

/** All digits of a duration: "4 840 123 ns". For tooltips. */
export function exactDuration(ns: Maybe): string {
  return isKnown(ns) ? `${decimal(ns)} ns` : UNKNOWN;
}

/** A size with a binary unit: "1 261.0 MiB". */
export function bytes(value: Maybe, decimals = 2): string {
  return size(value, BYTE_UNITS, decimals);
}

/** Transferred bytes, with a decimal unit: "427.60 MB". */
export function traffic(value: Maybe): string {
  return size(value, TRAFFIC_UNITS, 2);
}

function size(value: Maybe, units: readonly Unit[], decimals: number): string {
  if (!isKnown(value)) return UNKNOWN;
  const unit = unitFor(units, value);
  return `${inUnit(value, unit, decimals)} ${unit.name}`;
}

/** All digits of a size: "1 322 246 144 B". */
export function exactBytes(value: Maybe): string {
  return isKnown(value) ? `${integer(value)} B` : UNKNOWN;
}

/** A ratio (0..1) as a percentage: "71.5 %". A positive one that rounds to 0 is "< 0.1 %". */
export function percentOfRatio(ratio: Maybe, decimals = 1): string {
  if (!isKnown(ratio)) return UNKNOWN;
  return percent(ratio * 100, decimals);
}

/** A percentage (0..100). */
export function percent(value: Maybe, decimals = 1): string {
  if (!isKnown(value)) return UNKNOWN;
  const least = 10 ** -decimals;
  if (value > 0 && value < least / 2) return `< ${fixedDecimals(least, decimals)} %`;
  return `${fixedDecimals(value, decimals)} %`;
}

/** part / whole as a percentage, "–" if the whole is unknown or zero. */
export function shareOf(part: Maybe, whole: Maybe): string {
  return isKnown(part) && isKnown(whole) && whole !== 0 ? percentOfRatio(part / whole) : UNKNOWN;
}

/** A bandwidth in 1e9 bytes per second. */
export function bandwidth(value: Maybe): string {
  return isKnown(value) ? `${fixedDecimals(value, 2)} GB/s` : UNKNOWN;
}

/** A signed difference: "+0.432", "−5.600". Zero has no sign. */
export function signedDecimals(value: Maybe, decimals = 3): string {
  const text = fixedDecimals(value, decimals);
  return isKnown(value) && value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** A signed difference of durations (ns) with its unit: "−5.60 ms". */
export function signedDuration(ns: Maybe): string {
  if (!isKnown(ns)) return UNKNOWN;
  const text = duration(Math.abs(ns), unitFor(TIME_UNITS, Math.abs(ns)).scale === 1 ? 0 : 2);
  return ns === 0 ? text : `${ns > 0 ? "+" : MINUS}${text}`;
}

/** Reading speed: "52.1 MiB/s". */
export function rate(bytesPerSecond: Maybe): string {
  return isKnown(bytesPerSecond) ? `${bytes(bytesPerSecond, 1)}/s` : UNKNOWN;
}

/** Time left, coarse: "3 s", "2 min 05 s", "1 h 12 min". */
export function timeLeft(seconds: Maybe): string {
  if (!isKnown(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** base_ns (decimal string) + offset, exact: a decimal string of ns since the epoch. */
export function absoluteNs(baseNs: string, offset: Maybe): string | null {
  return isKnown(offset) ? (BigInt(baseNs) + BigInt(Math.round(offset))).toString() : null;
}

/** "UTC", "UTC+8", "UTC−3:30". */
function zoneName(minutes: number): string {
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? MINUS : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

/** A time (ns since the epoch, decimal string) as date and time in the time zone of the recording host. */
export function dateAndTime(epochNs: string | null, utcOffsetMinutes: number): string {
  if (epochNs === null || !/^-?\d+$/.test(epochNs)) return UNKNOWN;
  const date = new Date(Number(BigInt(epochNs) / 1_000_000n) + utcOffsetMinutes * 60_000);
  if (Number.isNaN(date.getTime())) return UNKNOWN;
  return `${date.toISOString().slice(0, 19).replace("T", " ")} ${zoneName(utcOffsetMinutes)}`;
}
