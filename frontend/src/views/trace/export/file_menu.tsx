/** The trace, its visible part and its picture as files; the part in Perfetto; marks from a file. */

import { duration, integer } from "../../../base/format";
import { saveCanvas } from "../../../base/save";
import { t } from "../../../i18n";
import { catalog, places, workerName } from "../../../state/catalog";
import type { Range } from "../../../timeline/scene";
import { Button } from "../../../widgets";
import { ShellCommand, shellWord } from "../../../widgets/shell_command";
import { downloadUrl } from "../api";
import { messageOf } from "../format";
import type { TraceSession } from "../session";
import { Menu } from "../slice_list";

export function FileMenu({ session }: { session: TraceSession }) {
  return <Menu text={t("trace.file")}>{(close) => <Entries session={session} close={close} />}</Menu>;
}

function Entries({ session, close }: { session: TraceSession; close: () => void }) {
  const range = exportedRange(session);
  const time = duration(range.end - range.start);
  const count = session.lanes.beside().length + 1;
  const name = `trace_${range.start}_${range.end}`;
  const open = () => {
    close();
    openInPerfetto(() => session.api.chromeTrace(range, count > 1), titleOf(session), `${name}.json`).catch(
      (error: unknown) =>
        session.say(error instanceof PerfettoError ? t("trace.file.perfetto.failed") : messageOf(error), false),
    );
  };
  const savePicture = () => {
    close();
    const { engine } = session;
    if (engine) saveCanvas(pictureOf(engine.root, engine.scene.theme.surfaceText), name);
  };
  const command = commandOf(session, range);
  return (
    <div class="trace-menu wide trace-file">
      <a class="option" href={downloadUrl(session.span)} download>
        <span>{t("trace.file.original")}</span>
        <span class="muted small">
          {session.data.source} · {t("trace.events", { count: integer(session.data.events) })}
        </span>
      </a>
      <a class="option" href={session.api.chromeTraceUrl(range, false)} download>
        <span>{t("trace.file.window", { time })}</span>
        <span class="muted small">{t("trace.file.window.about")}</span>
      </a>
      {count > 1 && (
        <a class="option" href={session.api.chromeTraceUrl(range, true)} download>
          <span>{t("trace.file.ranks", { time, count })}</span>
          <span class="muted small">{t("trace.file.ranks.about")}</span>
        </a>
      )}
      <Button look="option" onClick={open}>
        <span>{t("trace.file.perfetto", { time })}</span>
        <span class="muted small">{t("trace.file.perfetto.about")}</span>
      </Button>
      {command && <ShellCommand command={command} />}
      <Button look="option" onClick={savePicture}>
        <span>{t("trace.file.picture")}</span>
      </Button>
      <label class="option">
        <span>{t("trace.file.marks")}</span>
        <input
          class="sr-only"
          type="file"
          accept="application/json,.json"
          aria-label={t("trace.file.marks")}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            close();
            if (file) void session.marks.import(file);
          }}
        />
      </label>
    </div>
  );
}

/** The dragged range, else what is visible; of one rank, only up to where its trace begins and ends. */
function exportedRange({ area, engine, data, lanes }: TraceSession): Range {
  const dragged = area.area.value;
  if (dragged) return { start: Math.floor(dragged.start), end: Math.ceil(dragged.end) };
  const view = engine?.scene.view ?? { start: data.start, scale: 0 };
  const shown = { start: Math.floor(view.start), end: Math.ceil(view.start + view.scale * (engine?.width ?? 0)) };
  if (lanes.beside().length > 0) return { start: shown.start, end: Math.max(shown.end, shown.start + 1) };
  const start = Math.max(shown.start, data.start);
  return { start, end: Math.max(Math.min(shown.end, data.end + 1), start + 1) };
}

function titleOf({ span }: TraceSession): string {
  const place = places.peek().get(span);
  return place ? `${place.run.label} · ${workerName(place.worker)} · ${place.span.label}` : "NPU";
}

/**
 * The command that writes the same file; "" if the logdir is not known, or ranks of several runs are shown. Labels may change
 * while the files are read.
 */
function commandOf({ span, base, lanes, ranks }: TraceSession, range: Range): string {
  const place = places.peek().get(span);
  const logdirs = catalog.peek()?.logdirs ?? [];
  const beside = lanes.beside();
  if (!place || logdirs.length !== 1 || beside.some((one) => ranks.isOther(one.span))) return "";
  const epoch = (time: number) => String(BigInt(base) + BigInt(time));
  const words = [logdirs[0] ?? "", "--run", place.run.label, "--worker", place.worker.id, "--span", place.span.id];
  const name = (of: string) => {
    const worker = places.peek().get(of)?.worker;
    const isOnly = place.run.workers.filter((one) => one.rank === worker?.rank).length === 1;
    return isOnly && worker?.rank !== null ? worker?.rank : worker?.id;
  };
  const workers = [span, ...beside.map((one) => one.span)].map((of) => `${name(of)}=${ranks.shiftOf(of)}`);
  const shown = beside.length > 0 ? ["--ranks", workers.join(",")] : [];
  const times = ["--start", epoch(range.start), "--end", epoch(range.end), "--out", "window.json"];
  return ["tb-npu export-trace", ...[...words, ...shown, ...times].map(shellWord)].join(" ");
}

/** The timeline as a picture. */

/** All canvases of the timeline as they are on the page, in device pixels. `background`: a CSS colour. */
function pictureOf(root: HTMLElement, background: string): HTMLCanvasElement {
  const ratio = window.devicePixelRatio || 1;
  const frame = root.getBoundingClientRect();
  const picture = document.createElement("canvas");
  picture.width = Math.round(frame.width * ratio);
  picture.height = Math.round(frame.height * ratio);
  const context = picture.getContext("2d");
  if (!context) return picture;
  context.fillStyle = background;
  context.fillRect(0, 0, picture.width, picture.height);
  for (const canvas of root.querySelectorAll("canvas")) {
    const box = canvas.getBoundingClientRect();
    context.drawImage(
      canvas,
      Math.round((box.left - frame.left) * ratio),
      Math.round((box.top - frame.top) * ratio),
      Math.round(box.width * ratio),
      Math.round(box.height * ratio),
    );
  }
  return picture;
}

/** Opens a trace in the Perfetto UI. Its documented way: open its page, send "PING" until it answers "PONG", send the trace. */

const PERFETTO = "https://ui.perfetto.dev";
const PING_MS = 50;
const PATIENCE_MS = 60_000;

class PerfettoError extends Error {}

/**
 * Opens a tab; must be called from a click. `load`: fetches the trace. Rejects with PerfettoError if the browser blocks the tab,
 * the tab is closed, or Perfetto does not answer; with the error of `load`.
 */
async function openInPerfetto(load: () => Promise<ArrayBuffer>, title: string, fileName: string): Promise<void> {
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
