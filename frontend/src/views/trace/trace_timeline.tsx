/** The Trace view: toolbar, timeline, panel. */

import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ProgressJson, TraceJson, ViewJson } from "../../api/types.gen";
import { bytes, duration, integer, shareOf } from "../../base/format";
import { useMedia } from "../../base/use_media";
import { lang, t, textOf } from "../../i18n";
import { param, params, parentDocument, setParams } from "../../state/params";
import { freshJobs } from "../../state/progress";
import { theme } from "../../state/theme";
import type { HoverBar } from "../../timeline/scene";
import { ControlError, Cut, JobControl, Pace, ProblemBanner, ProgressBar, TextButton } from "../../widgets";
import { KeysHelp, listenKeys } from "./help/keyboard";
import { KEYS, parseLink, parseMoment } from "./link/link";
import { foreignNote, outdatedNote } from "./link/link_notice";
import { enterSpan, spanChanges } from "./link/span_state";
import { Panel } from "./panel";
import { useChosenPeriod } from "./period";
import { AlignPair } from "./ranks/align_menu";
import { followLanes } from "./ranks/follow_lanes";
import { RankStrips } from "./ranks/rank_strips";
import { TraceSession } from "./session";
import { RowMenu } from "./toolbar/rows_menu";
import { Toolbar } from "./toolbar/toolbar";

/** From this width on, the panel is beside the rows. */
const WIDE = "(min-width: 1400px)";

interface Props {
  span: string;
  data: TraceJson;
  answer: ViewJson;
  /** The server has a newer reading of the trace: request the view again. */
  onStale: () => void;
}

export function TraceTimeline({ span, data, answer, onStale }: Props) {
  const base = answer.base_ns;
  const stale = useRef(onStale);
  stale.current = onStale;
  const { session, entry } = useMemo(() => {
    const entry = enterSpan(span, params.peek());
    const link = parseLink(entry.params, span, data.version);
    const onStale = throttle(() => stale.current());
    return { entry, session: new TraceSession(span, data, base, link, onStale) };
  }, []);
  const root = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const isBeside = useMedia(WIDE) && session.panelOpen.value;

  useEffect(() => {
    if (!root.current) return;
    setParams(spanChanges(entry.params));
    session.attach(root.current, () => followLanes(session));
    const slot = session.engine?.surface.slot;
    if (slot) render(<RankStrips session={session} />, slot);
    const note = entry.foreign ? foreignNote(entry.foreign) : outdatedNote(entry.params, span, data.version);
    if (note) session.note.value = note;
    if (isFocusFree()) root.current.focus({ preventScroll: true });
    const stopKeys = listenKeys(session, {
      focusSearch: () => field.current?.select(),
      openHelp: () => setHelpOpen(true),
    });
    return () => {
      stopKeys();
      if (slot) render(null, slot);
      session.detach();
    };
  }, [session]);

  // After the effect above, which shows the first reading.
  useEffect(() => {
    if (session.data.version !== data.version || session.base !== base) session.renew(data, base);
  }, [data.version, base]);

  useFollowTheme(session);
  useFollowLanguage(session);
  useDeepLinks(session);
  useChosenPeriod(session);

  return (
    <div class="trace">
      <ProblemBanner problems={answer.problems} />
      <Toolbar session={session} field={field} onHelp={() => setHelpOpen(true)} />
      {data.processes.length === 0 && <RowsMissing answer={answer} />}
      {data.partial !== null && <ReadingBanner shown={data.partial} progress={answer.progress} />}
      <div class={`trace-main ${isBeside ? "beside" : ""}`}>
        <div class="trace-frame">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: an application element takes the keys itself */}
          <div ref={root} class="tl" role="application" tabIndex={0} aria-label={t("trace.canvas")} data-ready="no" />
          <NoteLine session={session} />
          <AlignPair session={session} />
        </div>
        <Panel session={session} isBeside={isBeside} />
      </div>
      <HoverTip session={session} />
      <RowMenu session={session} />
      <div class="sr-only" role="status" aria-live="polite">
        {session.announcement.value}
      </div>
      <KeysHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  );
}

/** Time (ms) in which several stale requests cause one reload. */
const STALE_MS = 300;

function throttle(task: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < STALE_MS) return;
    last = performance.now();
    task();
  };
}

/** True if no element has the focus, in TensorBoard's page and in this one: then the keys may work immediately. */
function isFocusFree(): boolean {
  const pages = [document, parentDocument()];
  return pages.every((page) => !page || [null, page.body, window.frameElement].includes(page.activeElement));
}

function NoteLine({ session }: { session: TraceSession }) {
  const note = session.note.value;
  if (!note) return null;
  return (
    <div class={`trace-note ${note.action?.isError ? "error" : ""}`} role="alert">
      <span class="grow">{note.text}</span>
      {note.action && <TextButton onClick={note.action.run}>{note.action.label}</TextButton>}
      <TextButton label={t("trace.note.close")} onClick={() => (session.note.value = null)}>
        ✕
      </TextButton>
    </div>
  );
}

function useFollowTheme(session: TraceSession): void {
  const mode = theme.value;
  useEffect(() => session.engine?.themeChanged(), [mode, session]);
}

function useFollowLanguage(session: TraceSession): void {
  const language = lang.value;
  useEffect(() => {
    session.showDerived();
    session.steps.show();
  }, [language, session]);
}

/** Handles links from other views: `find` (a name), `at` ("start,duration" since 1970, ns), and a search. */
function useDeepLinks(session: TraceSession): void {
  const name = param("find");
  const at = param("at");
  const text = param(KEYS.search);
  useEffect(() => {
    const range = parseMoment(at, session.base);
    if (name !== "") void session.goToName(name, range?.start ?? null);
    else if (range) {
      session.engine?.goTo(range, 0.5);
      void session.setArea({ ...range, tracks: null });
    }
    if (name !== "" || at !== "") setParams({ find: null, at: null });
  }, [name, at]);
  useEffect(() => {
    // The first effect may have started a search since `text` was read.
    const now = params.peek()[KEYS.search] ?? "";
    if (now !== session.search.text.peek()) void session.finder.find(now, true);
  }, [text]);
}

const AWAY = 14;

/** Name and duration of the bar under the pointer. */
function HoverTip({ session }: { session: TraceSession }) {
  const hovered = session.hovered.value;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!hovered || !box.current) return;
    const { width, height } = box.current.getBoundingClientRect();
    const fitsRight = hovered.x + AWAY + width < window.innerWidth - 4;
    const fitsBelow = hovered.y + AWAY + height < window.innerHeight - 4;
    box.current.style.left = `${fitsRight ? hovered.x + AWAY : Math.max(4, hovered.x - AWAY - width)}px`;
    box.current.style.top = `${fitsBelow ? hovered.y + AWAY : hovered.y - AWAY - height}px`;
  });
  if (!hovered) return null;
  return (
    <div class="tooltip" ref={box}>
      {hovered.bar ? <BarFigures session={session} bar={hovered.bar} /> : hovered.help}
    </div>
  );
}

function BarFigures({ session, bar }: { session: TraceSession; bar: HoverBar }) {
  const { merged, busy, start, end } = bar;
  const figures = { count: integer(merged), total: duration(busy), share: shareOf(busy, end - start) };
  return (
    <>
      {merged > 1 && <div>{t("trace.hover.merged", figures)}</div>}
      <div>
        <b>{session.nameOf(bar)}</b>
      </div>
      <div>
        {duration(bar.longest)}
        {bar.merged === 1 && ` · ${session.shownTime(Math.round(bar.start))}`}
      </div>
    </>
  );
}

/** Why there are strips alone, and the option that records rows. */
function RowsMissing({ answer: { missing } }: { answer: ViewJson }) {
  const [first] = missing;
  return (
    <p class="trace-rows-missing">
      {t("trace.rows_missing")} {first && textOf(first, "text")} {first?.option && <code>{first.option}</code>}
    </p>
  );
}

interface BannerProps {
  /** Bytes of the trace that the timeline shows. */
  shown: number;
  progress: readonly ProgressJson[];
}

/** Banner above a partial trace: how much is shown, and when the rest is ready. */
function ReadingBanner({ shown, progress }: BannerProps) {
  const job = freshJobs(progress).find((one) => one.stage === "trace");
  if (!job) return null;
  const isStopped = job.state === "cancelled" || job.state === "failed";
  const values = { shown: bytes(shown, 0), total: bytes(job.bytes_total, 1) };
  return (
    <section class="trace-reading" aria-label={t("state.reading.trace")} data-job={job.state}>
      <div class="job-head">
        <Cut class="grow">{t(isStopped ? "trace.reading.cancelled" : "trace.reading", values)}</Cut>
        {job.state === "reading" && (
          <span class="job-figures short mono muted">
            <Pace rate={job.rate} left={job.eta_s} />
          </span>
        )}
        <JobControl jobs={[job]} />
      </div>
      <ProgressBar label={job.file} done={job.bytes_done} total={job.bytes_total} stopped={isStopped} />
      <ControlError />
    </section>
  );
}
