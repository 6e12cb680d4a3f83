/** Colours of the canvas, read from the page's tokens. */

import {
  cssColour,
  flowToken,
  type MarkColour,
  markToken,
  mix,
  palette,
  parseColour,
  type Rgb,
  textOn,
} from "./colours";

export interface Theme {
  surface: Rgb;
  /** Process headers. */
  band: string;
  bandPixels: Rgb;
  grid: Rgb;
  line: string;
  text: string;
  textColour: Rgb;
  muted: string;
  accent: string;
  surfaceText: string;
  worse: string;
  good: string;
  /** A CSS variable. */
  token: (name: string) => Rgb;
  /** Slice colours by ColourIndex. */
  slices: Rgb[];
  /** Colour of a mark, and the text colour that reads on it. */
  mark: (colour: MarkColour | undefined) => { fill: string; text: string };
  /** Colour of a kind of flow. */
  flow: (kind: string) => string;
}

export const LABEL_FONT = '11px Roboto, "Noto Sans", "Noto Sans SC", "Microsoft YaHei", system-ui, sans-serif';
export const HEADER_FONT = `500 ${LABEL_FONT}`;

/** Colours in force at `element`. */
export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name);
  const known = new Map<string, Rgb>();
  const colour = (name: string) => {
    const found = known.get(name) ?? parseColour(token(name));
    known.set(name, found);
    return found;
  };
  const css = (name: string) => cssColour(colour(name));
  const surface = parseColour(token("--surface"));
  const text = parseColour(token("--text"));
  const dark = surface[0] + surface[1] + surface[2] < 384;
  const slices = palette(dark, token);
  const bandPixels = mix(surface, text, dark ? 0.07 : 0.055);
  return {
    surface,
    band: cssColour(bandPixels),
    bandPixels,
    grid: mix(surface, parseColour(token("--line")), 0.8),
    line: css("--line"),
    text: cssColour(text),
    textColour: text,
    muted: css("--muted"),
    accent: css("--accent"),
    worse: css("--worse"),
    good: css("--good"),
    token: colour,
    surfaceText: cssColour(surface),
    slices,
    mark: (colour) => {
      const fill = parseColour(token(markToken(colour)));
      return { fill: cssColour(fill), text: cssColour(textOn(fill)) };
    },
    flow: (kind) => token(flowToken(kind)).trim(),
  };
}
