/** Pixel colours by name or duration, computed once per answer and search state. */

import {
  type ColourIndex,
  colourOf,
  cssColour,
  meaningOf,
  mix,
  pixelOf,
  type Rgb,
  rankColour,
  textOn,
} from "./colours";
import type { SliceRow } from "./decode";
import type { SliceLabels } from "./derived";
import { type ColourMode, DURATION_SHARES, durationClass } from "./display";
import type { BarColours } from "./raster";
import type { RowProcess } from "./rows";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

/** What the bars of an answer refer to. */
type Used = Pick<SliceRow, "names" | "categories">;

/** What the colours need of the process of a row. */
type Owner = Pick<RowProcess, "name" | "rankPlace">;

export interface Lookup extends BarColours {
  /** Texts on the bars, by name index. */
  texts: string[];
  /** Colours of the texts, by colour number. */
  textColours: string[];
}

type Pixels = Pick<Lookup, "fill" | "edge" | "textColours">;

const DIM = 0.78;
const EDGE = 0.45;

/** Creates lookups and caches them until the colours change. */
export class Lookups {
  private made = new WeakMap<readonly string[], Map<string, Lookup>>();
  private theme: Theme | null = null;
  private labels: SliceLabels | null = null;
  /** Of the theme's slice colours, as they are and dimmed. */
  private palettes: Record<"plain" | "dimmed", Pixels> | null = null;

  /** `isDimmed`: for bars behind the hits of a search, which the server determines. */
  get(used: Used, owner: Owner, scene: Scene, isDimmed: boolean, mode: ColourMode = "name"): Lookup {
    const { theme, labels } = scene;
    if (!this.palettes || theme !== this.theme) {
      this.palettes = { plain: pixelsOf(theme.slices, theme, false), dimmed: pixelsOf(theme.slices, theme, true) };
    }
    if (theme !== this.theme || labels !== this.labels) {
      this.made = new WeakMap();
      this.theme = theme;
      this.labels = labels;
    }
    const palette = this.palettes[isDimmed ? "dimmed" : "plain"];
    const { names } = used;
    const { name: process, rankPlace = 0 } = owner;
    const own = { name: process === "Overlap Analysis", category: process, rank: rankPlace, duration: "" }[mode];
    const variant = `${mode} ${own} ${isDimmed}`;
    let variants = this.made.get(names);
    if (!variants) {
      variants = new Map();
      this.made.set(names, variants);
    }
    let lookup = variants.get(variant);
    if (!lookup) {
      lookup = makeLookup(used, process, labels, palette, mode === "category");
      if (mode === "rank") lookup = { ...lookup, ...pick(palette, [rankColour(rankPlace)]), numberOf: () => 0 };
      if (mode === "duration") lookup = { ...lookup, ...durationColours(scene.theme, isDimmed) };
      variants.set(variant, lookup);
    }
    return lookup;
  }
}

function makeLookup(
  { names, categories }: Used,
  process: string,
  labels: SliceLabels,
  palette: Pixels,
  byCategory: boolean,
): Lookup {
  const found = names.map((name) => labels.get(name));
  const indices = names.map((name, at) => {
    const label = found[at];
    if (label) return meaningOf(label.color);
    return byCategory && process !== "Overlap Analysis"
      ? colourOf(categories[at] || process, "")
      : colourOf(name, process);
  });
  return { ...pick(palette, indices), texts: names.map((name, at) => found[at]?.text ?? name) };
}

/** Colours by class of duration. */
function durationColours(theme: Theme, isDimmed: boolean): Pixels & Pick<BarColours, "numberOf"> {
  const full = theme.slices[0] ?? theme.textColour;
  const colours = DURATION_SHARES.map((share) => mix(theme.surface, full, share));
  return { ...pixelsOf(colours, theme, isDimmed), numberOf: durationClass };
}

/** The colours of a palette at `indices`. */
function pick(palette: Pixels, indices: readonly ColourIndex[]): Pixels {
  return {
    fill: Uint32Array.from(indices, (index) => palette.fill[index] as number),
    edge: Uint32Array.from(indices, (index) => palette.edge[index] as number),
    textColours: indices.map((index) => palette.textColours[index] as string),
  };
}

function pixelsOf(colours: readonly Rgb[], theme: Theme, isDimmed: boolean): Pixels {
  const shown = isDimmed ? colours.map((colour) => mix(colour, theme.surface, DIM)) : colours;
  return {
    fill: Uint32Array.from(shown, pixelOf),
    edge: Uint32Array.from(shown, (colour) => pixelOf(mix(colour, theme.surface, EDGE))),
    textColours: shown.map((colour) => (isDimmed ? theme.muted : cssColour(textOn(colour)))),
  };
}

/** Text colour of a label. */
export function labelColour({ numberOf, textColours }: Lookup, row: SliceRow, index: number): string {
  return textColours[numberOf ? numberOf(row, index) : (row.name[index] as number)] as string;
}

export function sliceCss(name: string, process: string, theme: Theme): string {
  return cssColour(theme.slices[colourOf(name, process)] ?? theme.surface);
}
