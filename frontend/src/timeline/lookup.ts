/** Pixel colours by name, computed once per answer and search state. */

import { holdsAll, wordsOf } from "../base/words";
import { type ColourIndex, colourOf, cssColour, meaningOf, mix, pixelOf } from "./colours";
import type { SliceLabels } from "./derived";
import type { BarColours } from "./raster";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

/** Colours by name index. */
export interface Lookup extends BarColours {
  index: ColourIndex[];
  /** Texts on the bars. */
  texts: string[];
  /** Names that the search does not match. */
  dimmed: Uint8Array;
}

const DIM = 0.78;
const EDGE = 0.45;

/** Creates lookups and caches them until the colours or the search change. */
export class Lookups {
  private made = new WeakMap<readonly string[], Map<boolean, Lookup>>();
  private needle = "";
  private theme: Theme | null = null;
  private labels: SliceLabels | null = null;

  get(names: readonly string[], process: string, scene: Scene): Lookup {
    if (scene.needle !== this.needle || scene.theme !== this.theme || scene.labels !== this.labels) {
      this.made = new WeakMap();
      this.needle = scene.needle;
      this.theme = scene.theme;
      this.labels = scene.labels;
    }
    const overlap = process === "Overlap Analysis";
    let both = this.made.get(names);
    if (!both) {
      both = new Map();
      this.made.set(names, both);
    }
    let lookup = both.get(overlap);
    if (!lookup) {
      lookup = makeLookup(names, process, scene);
      both.set(overlap, lookup);
    }
    return lookup;
  }
}

function makeLookup(names: readonly string[], process: string, scene: Scene): Lookup {
  const { theme, needle, labels } = scene;
  const words = wordsOf(needle);
  const lookup: Lookup = {
    fill: new Uint32Array(names.length),
    edge: new Uint32Array(names.length),
    merged: new Uint32Array(names.length),
    index: [],
    texts: [],
    dimmed: new Uint8Array(names.length),
  };
  names.forEach((name, position) => {
    const label = labels.get(name);
    const index = label ? meaningOf(label.color) : colourOf(name, process);
    const base = theme.slices[index] ?? theme.surface;
    const text = label?.text ?? name;
    const dimmed = !holdsAll([text], words);
    lookup.texts[position] = text;
    const dim = mix(base, theme.surface, DIM);
    const colour = dimmed ? dim : base;
    lookup.index[position] = index;
    lookup.dimmed[position] = dimmed ? 1 : 0;
    lookup.fill[position] = pixelOf(colour);
    // The server determines the hits of a search; they are drawn over the bars.
    lookup.merged[position] = pixelOf(needle === "" ? base : dim);
    lookup.edge[position] = pixelOf(mix(colour, theme.surface, EDGE));
  });
  return lookup;
}

/** Text colour of a label. */
export function labelColour(lookup: Lookup, name: number, theme: Theme): string {
  if (lookup.dimmed[name]) return theme.muted;
  return theme.texts[lookup.index[name] as number] ?? theme.text;
}

export function sliceCss(name: string, process: string, theme: Theme): string {
  return cssColour(theme.slices[colourOf(name, process)] ?? theme.surface);
}
