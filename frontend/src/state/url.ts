/** The plugin's part of TensorBoard's URL hash: `#npu_profiler&p.npu_profiler.view=kernel&…`. Pure functions. */

export const PLUGIN = "npu_profiler";
const PREFIX = `p.${PLUGIN}.`;

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
  return { tab, params };
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
