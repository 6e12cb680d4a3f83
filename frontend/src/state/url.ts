/** The plugin's part of TensorBoard's URL hash: `#npu_profiler&p.npu_profiler.view=kernel&…`. Pure functions. */

export const PLUGIN = "npu_profiler";
const PREFIX = `p.${PLUGIN}.`;
/** Parameter of the step of each view until 0.2. */
const OLD_STEPS: readonly (readonly [string, string])[] = [
  ["overview", "overview.step"],
  ["kernel", "kernel.step"],
  ["idle", "idle.step"],
  ["distributed", "d.step"],
  ["step_trace", "steps.step"],
];
/** Values of the parameters of old links for all steps, and for kernels and ranks outside steps. */
const OLD_VALUES: Readonly<Record<string, string>> = { "*": "", "-": "null" };

export type Params = Readonly<Record<string, string>>;

/** The tab in the hash ("" if none) and the plugin's parameters. */
export function parseHash(hash: string): { tab: string; params: Params } {
  let tab = "";
  const params: Record<string, string> = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at < 0) {
      tab = tab || decode(part);
      continue;
    }
    const key = decode(part.slice(0, at));
    if (key.startsWith(PREFIX)) params[key.slice(PREFIX.length)] = decode(part.slice(at + 1));
  }
  return { tab, params: withOneStep(params) };
}

/** The step of an old link, of its view first, as the step of the page. */
function withOneStep(params: Params): Params {
  const found = OLD_STEPS.filter(([, key]) => key in params);
  if (found.length === 0) return params;
  const [, key] = found.find(([view]) => view === (params.view ?? "overview")) ?? found[0] ?? ["", ""];
  const old = found.map(([, name]) => name);
  const rest = Object.fromEntries(Object.entries(params).filter(([name]) => !old.includes(name)));
  const value = params[key] ?? "";
  const step = rest.step ?? OLD_VALUES[value] ?? value;
  return step === "" ? rest : { ...rest, step };
}

/** The hash with the plugin's parameters replaced; other parts stay as they are. */
export function formatHash(hash: string, params: Params): string {
  const others = hash
    .replace(/^#/, "")
    .split("&")
    .filter((part) => part !== "" && !decode(part).startsWith(PREFIX));
  const ours = Object.entries(params)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${encodeURIComponent(PREFIX + key)}=${encodeURIComponent(value)}`);
  return `#${[...others, ...ours].join("&")}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray "%" typed by hand
  }
}
