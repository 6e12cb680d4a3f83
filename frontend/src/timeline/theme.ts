/** Colours of the canvas, read from the page's tokens. */

import * as colours from "./colours";

export interface Theme {
  surface: colours.Rgb;
  /** Process headers. */
  band: string;
  bandPixels: colours.Rgb;
  grid: colours.Rgb;
  line: string;
  text: string;
  textColour: colours.Rgb;
  muted: string;
  accent: string;
  surfaceText: string;
  worse: string;
  good: string;
  /** A CSS variable. */
  token: (name: string) => colours.Rgb;
  /** Slice colours by ColourIndex. */
  slices: colours.Rgb[];
  /** Colour of a mark, and the text colour that reads on it. */
  mark: (colour: colours.MarkColour | undefined) => { fill: string; text: string };
  /** Colour of a kind of flow. */
  flow: (kind: string) => string;
}

export const LABEL_FONT = '11px Roboto, "Noto Sans", "Noto Sans SC", "Microsoft YaHei", system-ui, sans-serif';
export const HEADER_FONT = `500 ${LABEL_FONT}`;

/** Colours in force at `element`. */
export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name);
  const known = new Map<string, colours.Rgb>();
  const colour = (name: string) => {
    const found = known.get(name) ?? colours.parseColour(token(name));
    known.set(name, found);
    return found;
  };
  const css = (name: string) => colours.cssColour(colour(name));
  const surface = colours.parseColour(token("--surface"));
  const text = colours.parseColour(token("--text"));
  const dark = surface[0] + surface[1] + surface[2] < 384;
  const slices = colours.palette(dark, token);
  const bandPixels = colours.mix(surface, text, dark ? 0.07 : 0.055);
  return {
    surface,
    band: colours.cssColour(bandPixels),
    bandPixels,
    grid: colours.mix(surface, colours.parseColour(token("--line")), 0.8),
    line: css("--line"),
    text: colours.cssColour(text),
    textColour: text,
    muted: css("--muted"),
    accent: css("--accent"),
    worse: css("--worse"),
    good: css("--good"),
    token: colour,
    surfaceText: colours.cssColour(surface),
    slices,
    mark: (colour) => {
      const fill = colours.parseColour(token(colours.markToken(colour)));
      return { fill: colours.cssColour(fill), text: colours.cssColour(colours.textOn(fill)) };
    },
    flow: (kind) => token(colours.flowToken(kind)).trim(),
  };
}
