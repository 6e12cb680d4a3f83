/** Opens a trace in the Perfetto UI. Its documented way: open its page, send "PING" until it answers "PONG", send the trace. */

const PERFETTO = "https://ui.perfetto.dev";
const PING_MS = 50;
const PATIENCE_MS = 60_000;

export class PerfettoError extends Error {}

/**
 * Opens a tab; must be called from a click. `load`: fetches the trace. Rejects with PerfettoError if the browser blocks the tab,
 * the tab is closed, or Perfetto does not answer; with the error of `load`.
 */
export async function openInPerfetto(load: () => Promise<ArrayBuffer>, title: string, fileName: string): Promise<void> {
  const tab = window.open(PERFETTO);
  if (!tab) throw new PerfettoError("blocked");
  const [buffer] = await Promise.all([load(), answerOf(tab)]);
  tab.postMessage({ perfetto: { buffer, title, fileName } }, PERFETTO);
}

/** Resolves when the page in the tab is ready. */
function answerOf(tab: Window): Promise<void> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const ping = setInterval(() => {
      if (tab.closed || performance.now() - started > PATIENCE_MS) end(() => reject(new PerfettoError("no answer")));
      else tab.postMessage("PING", PERFETTO);
    }, PING_MS);
    const onMessage = (event: MessageEvent) => {
      if (event.source === tab && event.origin === PERFETTO && event.data === "PONG") end(resolve);
    };
    const end = (done: () => void) => {
      clearInterval(ping);
      window.removeEventListener("message", onMessage);
      done();
    };
    window.addEventListener("message", onMessage);
  });
}
