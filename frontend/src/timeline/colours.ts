/** Colours of slices: tokens for slices with a meaning, else a stable muted colour by name. */

/** Index into a palette: MEANINGS first, then muted colours. */
export type ColourIndex = number;

/** CSS variables, in the order of the first palette entries. */
export const MEANINGS = [
  "--c-compute",
  "--c-over",
  "--c-comm",
  "--c-wait",
  "--c-free",
  "--c-vec",
  "--c-mix",
  "--c-prep",
  "--c-pink",
  "--c-rest",
  "--c-bubble",
  "--c-late",
  "--c-brown",
  "--c-plum",
  "--c-dim",
] as const;

/** Hue (degrees), of the muted colours; neighbours in the list differ clearly. */
const HUES = [210, 28, 168, 330, 95, 262, 48, 190, 6, 135, 290, 228];
const TONES = 2;

const OVERLAP_NAMES: Record<string, (typeof MEANINGS)[number]> = {
  computing: "--c-compute",
  communication: "--c-comm",
  "communication(not overlapped)": "--c-comm",
  free: "--c-free",
};

/** Codes of the digits. */
const [ZERO, NINE] = [48, 57];

/** Meaning of waits and of what others wait for, on any row. */
const WAITS = "sync_event";

/** Hash of a name. Digits that only number an instance ("hcom_allReduce__586_0_1") do not change it: each number counts as 0. */
function familyHash(name: string): number {
  let value = 0x811c9dc5;
  let isInNumber = false;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    const isDigit = code >= ZERO && code <= NINE;
    if (!isDigit || !isInNumber) value = Math.imul(value ^ (isDigit ? ZERO : code), 0x01000193);
    isInNumber = isDigit;
  }
  return (value ^ (value >>> 15)) >>> 0;
}

/** Colour of a CSS variable of MEANINGS; that of idle for any other. */
export function meaningOf(token: string): ColourIndex {
  const index = (MEANINGS as readonly string[]).indexOf(token);
  return index >= 0 ? index : MEANINGS.indexOf("--c-free");
}

/** Colour of a slice. `process`: name of its process, which gives Overlap Analysis rows their meaning; `does`: its own meaning. */
export function colourOf(name: string, process: string, does = ""): ColourIndex {
  if (process === "Overlap Analysis") {
    const meaning = OVERLAP_NAMES[name.toLowerCase()];
    if (meaning) return MEANINGS.indexOf(meaning);
  }
  if (does === WAITS) return MEANINGS.indexOf("--c-free");
  return MEANINGS.length + (familyHash(name) % (HUES.length * TONES));
}

/** Colour of a rank by its place among the ranks of the page; they repeat after 24. */
export function rankColour(place: number): ColourIndex {
  return MEANINGS.length + (place % (HUES.length * TONES));
}

export type Rgb = readonly [number, number, number];

function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const chroma = saturation * Math.min(lightness, 1 - lightness);
  const channel = (shift: number) => {
    const k = (shift + hue / 30) % 12;
    return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** Parses "#rrggbb", "#rgb" or "rgb(r, g, b)"; black for anything else. */
export function parseColour(text: string): Rgb {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
  if (digits) {
    const full = digits.length === 3 ? digits.replace(/./g, "$&$&") : digits;
    return [0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16)) as unknown as Rgb;
  }
  const rgb = /^rgba?\((\d+)[, ]+(\d+)[, ]+(\d+)/.exec(text.trim());
  if (rgb) return [Number(rgb[1]), Number(rgb[2]), Number(rgb[3])];
  return [0, 0, 0];
}

export function cssColour([red, green, blue]: Rgb): string {
  return `rgb(${red},${green},${blue})`;
}

/** A pixel of ImageData seen as Uint32 (little-endian: alpha, blue, green, red). */
export function pixelOf([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Mixes `share` of `over` into `under`. */
export function mix(under: Rgb, over: Rgb, share: number): Rgb {
  return [0, 1, 2].map((part) =>
    Math.round((under[part] as number) * (1 - share) + (over[part] as number) * share),
  ) as unknown as Rgb;
}

/** WCAG relative luminance, 0 to 1. */
function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
  return x > y ? x / y : y / x;
}

const DARK_TEXT: Rgb = [8, 11, 16];
const LIGHT_TEXT: Rgb = [255, 255, 255];

/** The text colour that reads better on `colour`. */
export function textOn(colour: Rgb): Rgb {
  return contrast(colour, DARK_TEXT) >= contrast(colour, LIGHT_TEXT) ? DARK_TEXT : LIGHT_TEXT;
}

/** Colours by ColourIndex. `token` gives the value of a CSS variable. */
export function palette(dark: boolean, token: (name: string) => string): Rgb[] {
  const muted: Rgb[] = [];
  for (let tone = 0; tone < TONES; tone++) {
    for (const hue of HUES) {
      muted.push(dark ? fromHsl(hue, 0.34, tone ? 0.62 : 0.54) : fromHsl(hue, tone ? 0.5 : 0.42, tone ? 0.78 : 0.66));
    }
  }
  return [...MEANINGS.map((name) => parseColour(token(name))), ...muted];
}

/** CSS variables of marks and of flows. */

/** Name and CSS variable; the first is that of a mark without a colour. */
export const MARK_COLOURS = [
  ["blue", "--accent"],
  ["orange", "--c-wait"],
  ["yellow", "--c-comm"],
  ["green", "--c-vec"],
  ["purple", "--c-mix"],
  ["pink", "--c-pink"],
] as const;

export type MarkColour = (typeof MARK_COLOURS)[number][0];

export function isMarkColour(name: unknown): name is MarkColour {
  return MARK_COLOURS.some(([known]) => known === name);
}

/** CSS variable of a colour. */
export function markToken(colour: MarkColour | undefined): string {
  return (MARK_COLOURS.find(([name]) => name === colour) ?? MARK_COLOURS[0])[1];
}

/** Kinds of flows of Ascend traces and their colours. */

const COLOURS: Record<string, string> = {
  async_npu: "--c-mix",
  HostToDevice: "--c-compute",
  async_task_queue: "--c-vec",
  async_mindspore: "--c-vec",
  fwdbwd: "--c-wait",
};

/** CSS variable that carries the colour of a kind of flow. */
export function flowToken(kind: string): string {
  return COLOURS[kind] ?? "--c-comm";
}
