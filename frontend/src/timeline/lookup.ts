/** Colours of bars: pixels by colour number, and the colour numbers of an answer's names, computed once. */

import { colourOf, cssColour, meaningOf, mix, pixelOf, type Rgb, rankColour, textOn } from "./colours";
import type { SliceRow } from "./decode";
import { type ColourMode, DURATION_SHARES, durationClass } from "./display";
import type { SliceLabels } from "./lanes";
import { type BarColours, numberOf } from "./raster";
import type { RowProcess } from "./rows";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

/** What the bars of an answer refer to. */
type Used = Pick<SliceRow, "names" | "categories" | "meanings">;

/** What the colours need of the process of a row. */
type Owner = Pick<RowProcess, "name" | "rankPlace">;

/** What the colours of a row say. "label": what the server says about derived slices. */
export type Colouring = ColourMode | "label";

export interface Lookup extends BarColours {
  /** Colours of the texts on the bars, by colour number. */
  textColours: readonly string[];
}

type Pixels = Omit<Lookup, "numbers">;

/** Colour number of slices that wait. */
const WAITS_COLOUR = meaningOf("--c-free");
const DIM = 0.78;
const EDGE = 0.45;
const OVERLAP = "Overlap Analysis";

/** Creates lookups. Caches pixels until the theme changes, and numbers until the labels change. */
export class Lookups {
  private theme: Theme | null = null;
  private labels: SliceLabels | null = null;
  private readonly pixels = new Map<string, Pixels>();
  private numbers = new WeakMap<readonly string[], Map<string, Uint8Array>>();

  /** `isDimmed`: for bars behind the hits of a search, which the server determines. */
  get(used: Used, owner: Owner, scene: Scene, isDimmed: boolean, colouring: Colouring = "name"): Lookup {
    const { theme, labels } = scene;
    if (theme !== this.theme) this.pixels.clear();
    if (labels !== this.labels) this.numbers = new WeakMap();
    this.theme = theme;
    this.labels = labels;
    const pixels = this.pixelsOf(theme, colouring === "duration", isDimmed);
    if (colouring === "duration") return { ...pixels, numbers: durationClass };
    if (colouring === "rank") {
      const number = rankColour(owner.rankPlace ?? 0);
      return { ...pixels, numbers: () => number };
    }
    const numbers = this.numbersOf(used, owner.name, labels, colouring);
    return colouring === "category" ? { ...pixels, numbers } : { ...pixels, numbers, waits: WAITS_COLOUR };
  }

  private pixelsOf(theme: Theme, isByDuration: boolean, isDimmed: boolean): Pixels {
    const key = `${isByDuration} ${isDimmed}`;
    let pixels = this.pixels.get(key);
    if (!pixels) {
      pixels = makePixels(isByDuration ? durationColours(theme) : theme.slices, theme, isDimmed);
      this.pixels.set(key, pixels);
    }
    return pixels;
  }

  private numbersOf(used: Used, process: string, labels: SliceLabels, colouring: Colouring): Uint8Array {
    const variant =
      colouring === "category" || colouring === "meaning" || process === OVERLAP
        ? `${colouring} ${process}`
        : colouring;
    const known = this.numbers.get(used.names) ?? new Map<string, Uint8Array>();
    this.numbers.set(used.names, known);
    let numbers = known.get(variant);
    if (!numbers) {
      numbers = makeNumbers(used, process, labels, colouring);
      known.set(variant, numbers);
    }
    return numbers;
  }
}

/** Colour numbers by name index. */
function makeNumbers(
  { names, categories, meanings }: Used,
  process: string,
  labels: SliceLabels,
  colouring: Colouring,
) {
  const numbers = new Uint8Array(names.length);
  const textOfColour = (name: string, at: number) => {
    if (process === OVERLAP) return name;
    if (colouring === "category") return categories[at] || process;
    return colouring === "meaning" ? meanings[at] || process : name;
  };
  for (const [at, name] of names.entries()) {
    const label = colouring === "label" ? labels.get(name) : undefined;
    if (label) numbers[at] = meaningOf(label.color);
    else numbers[at] = colourOf(textOfColour(name, at), process, meanings[at]);
  }
  return numbers;
}

/** Colours by class of duration. */
function durationColours(theme: Theme): Rgb[] {
  const full = theme.slices[0] ?? theme.textColour;
  return DURATION_SHARES.map((share) => mix(theme.surface, full, share));
}

function makePixels(colours: readonly Rgb[], theme: Theme, isDimmed: boolean): Pixels {
  const shown = isDimmed ? colours.map((colour) => mix(colour, theme.surface, DIM)) : colours;
  return {
    fill: Uint32Array.from(shown, pixelOf),
    edge: Uint32Array.from(shown, (colour) => pixelOf(mix(colour, theme.surface, EDGE))),
    textColours: shown.map((colour) => (isDimmed ? theme.muted : cssColour(textOn(colour)))),
  };
}

/** Text colour of a label. */
export function labelColour(lookup: Lookup, row: SliceRow, index: number): string {
  return lookup.textColours[numberOf(lookup.numbers, row, index)] as string;
}
