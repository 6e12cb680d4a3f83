/** Pixel colours by name, computed once per answer and search state. */

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
  /** Behind the hits of a search. */
  isDimmed: boolean;
}

const DIM = 0.78;
const EDGE = 0.45;

/** Creates lookups and caches them until the colours change. */
export class Lookups {
  private made = new WeakMap<readonly string[], Map<string, Lookup>>();
  private theme: Theme | null = null;
  private labels: SliceLabels | null = null;

  /** `isDimmed`: for bars behind the hits of a search, which the server determines. */
  get(names: readonly string[], process: string, scene: Scene, isDimmed: boolean): Lookup {
    if (scene.theme !== this.theme || scene.labels !== this.labels) {
      this.made = new WeakMap();
      this.theme = scene.theme;
      this.labels = scene.labels;
    }
    const variant = `${process === "Overlap Analysis"} ${isDimmed}`;
    let variants = this.made.get(names);
    if (!variants) {
      variants = new Map();
      this.made.set(names, variants);
    }
    let lookup = variants.get(variant);
    if (!lookup) {
      lookup = makeLookup(names, process, scene, isDimmed);
      variants.set(variant, lookup);
    }
    return lookup;
  }
}

function makeLookup(names: readonly string[], process: string, scene: Scene, isDimmed: boolean): Lookup {
  const { theme, labels } = scene;
  const lookup: Lookup = {
    fill: new Uint32Array(names.length),
    edge: new Uint32Array(names.length),
    index: [],
    texts: [],
    isDimmed,
  };
  names.forEach((name, position) => {
    const label = labels.get(name);
    const index = label ? meaningOf(label.color) : colourOf(name, process);
    const base = theme.slices[index] ?? theme.surface;
    const colour = isDimmed ? mix(base, theme.surface, DIM) : base;
    lookup.texts[position] = label?.text ?? name;
    lookup.index[position] = index;
    lookup.fill[position] = pixelOf(colour);
    lookup.edge[position] = pixelOf(mix(colour, theme.surface, EDGE));
  });
  return lookup;
}

/** Text colour of a label. */
export function labelColour(lookup: Lookup, name: number, theme: Theme): string {
  if (lookup.isDimmed) return theme.muted;
  return theme.texts[lookup.index[name] as number] ?? theme.text;
}

export function sliceCss(name: string, process: string, theme: Theme): string {
  return cssColour(theme.slices[colourOf(name, process)] ?? theme.surface);
}
