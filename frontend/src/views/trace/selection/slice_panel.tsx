/** Details of the selected slice. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { DerivedFactsJson, DescentJson, KernelFactsJson, SliceDetailJson, ViewId } from "../../../api/types.gen";
import { copyText } from "../../../base/clipboard";
import { dateAndTime, integer } from "../../../base/format";
import { lang, t, textOf, viewTitle } from "../../../i18n";
import { sayMessage } from "../../../i18n/messages";
import { openView } from "../../../state/selection";
import { findTrack, processLabel } from "../../../timeline/rows";
import { Button, Empty, Pages, TextButton } from "../../../widgets";
import { argument, duration, exactDuration, tensors } from "../format";
import { focus } from "../help/keyboard";
import { unfoldRank } from "../ranks/rank_rows";
import type { TraceSession } from "../session";
import { ChainColumn, FlowList, SliceLink } from "./chain_column";
import { DescentLists, useDescent } from "./descent_lists";
import type { Selected } from "./selection";

const COPIED_MS = 1200;
/** Tasks that wait for an event of another stream. */
const EVENT_WAIT = /^event_wait$/i;

export function SlicePanel({ session }: { session: TraceSession }) {
  const selected = session.selection.selected.value;
  if (!selected) return <Empty text={t("trace.panel.none")} />;
  if (selected.error) return <Empty text={t("trace.slice.failed", { message: selected.error })} />;
  if (!selected.detail) return <Empty text={t("state.loading")} />;
  return <SliceContent session={session} selected={selected} detail={selected.detail} />;
}

function SliceContent({ session, selected, detail }: Omit<FactsProps, "descent">) {
  const descent = useDescent(session, detail);
  const led = typeof descent === "string" ? null : descent;
  return (
    <div class="trace-slice">
      <Title session={session} detail={detail} />
      <div class="trace-columns">
        <Facts session={session} selected={selected} detail={detail} descent={led} />
        {detail.derived ? (
          <DerivedFacts session={session} facts={detail.derived} />
        ) : (
          <Recorded session={session} selected={selected} detail={detail} />
        )}
      </div>
      {led && <DescentLists session={session} detail={detail} descent={led} />}
      {typeof descent === "string" && <Empty text={t("trace.descent.failed", { message: descent })} />}
      {EVENT_WAIT.test(detail.name) && led && !led.is_host && <p class="muted">{t("trace.descent.event")}</p>}
      <Stack detail={detail} />
    </div>
  );
}

/** What the files hold about the slice. */
function Recorded({ session, selected, detail }: Omit<FactsProps, "descent">) {
  return (
    <>
      <div>
        {detail.kernel && <Kernel facts={detail.kernel} />}
        <Arguments detail={detail} />
      </div>
      <ChainColumn session={session} selected={selected} detail={detail} />
      <div>
        <FlowList session={session} selected={selected} detail={detail} />
      </div>
    </>
  );
}

function Title({ session, detail }: { session: TraceSession; detail: SliceDetailJson }) {
  return (
    <div class="trace-title">
      <h2 class="ellipsis" data-tip-cut>
        {session.nameOf(detail)}
      </h2>
      <span class="muted ellipsis" data-tip-cut>
        {rowName(session, detail)}
      </span>
      <Actions session={session} detail={detail} />
    </div>
  );
}

function rowName(session: TraceSession, { process, thread, track }: SliceDetailJson): string {
  const found = findTrack(session.processes.value, track);
  return found
    ? `${processLabel({ ...found.process, label: "" })} · ${found.thread.tracks ? thread : found.thread.name}`
    : [process, thread].filter(Boolean).join(" · ");
}

/** Actions on the slice, and navigation to its neighbours in the row. */
function Actions({ session, detail }: { session: TraceSession; detail: SliceDetailJson }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [detail.id]);
  const copy = async () => {
    await copyText(session.nameOf(detail));
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <div class="trace-actions">
      <TextButton onClick={() => void copy()}>{t(isCopied ? "trace.slice.copied" : "trace.slice.copy")}</TextButton>
      {!detail.derived && (
        <TextButton onClick={() => void session.finder.find(detail.name, false)}>{t("trace.slice.same")}</TextButton>
      )}
      <TextButton
        tip={t("trace.slice.meanwhile.tip")}
        onClick={() =>
          void session.setArea({ start: detail.start, end: detail.start + Math.max(detail.dur, 1), tracks: null })
        }
      >
        {t("trace.slice.meanwhile")}
      </TextButton>
      <TextButton onClick={() => focus(session)}>{t("trace.slice.focus")}</TextButton>
      <Neighbour session={session} id={detail.previous} face="‹" tip={t("trace.slice.previous")} />
      <Neighbour session={session} id={detail.next} face="›" tip={t("trace.slice.next")} />
    </div>
  );
}

interface NeighbourProps {
  session: TraceSession;
  id: number | null;
  face: string;
  tip: string;
}

function Neighbour({ session, id, face, tip }: NeighbourProps) {
  return (
    <Button
      look="trace-step"
      name={tip}
      disabled={id === null}
      onClick={() => id !== null && void session.selection.select(id, "sight")}
    >
      {face}
    </Button>
  );
}

interface FactsProps {
  session: TraceSession;
  selected: Selected;
  detail: SliceDetailJson;
  /** What it led to; null until it is loaded. */
  descent: DescentJson | null;
}

function Facts({ session, selected, detail, descent }: FactsProps) {
  const queue = descent?.queue ?? null;
  const gap = useGap(session, detail);
  const epoch = t("trace.slice.epoch", {
    exact: integer(detail.start - session.data.zero),
    epoch: detail.start_epoch_ns,
    moment: dateAndTime(detail.start_epoch_ns, session.data.utc_offset_minutes),
  });
  return (
    <dl class="facts">
      {selected.merged > 1 && (
        <dd class="trace-wide muted">{t("trace.slice.merged", { count: integer(selected.merged) })}</dd>
      )}
      <Fact name={t("trace.slice.start")}>
        <span class="mono" data-tip={epoch}>
          {session.shownTime(detail.start)}
        </span>
      </Fact>
      <Fact name={t("trace.slice.duration")}>
        <Time ns={detail.dur} />
      </Fact>
      <Fact name={t("trace.slice.self")} tip={t("trace.slice.self.tip")}>
        <Time ns={detail.self} />
        {detail.children > 0 && (
          <span class="muted">
            {" "}
            · {t("trace.slice.children")} {integer(detail.children)}
          </span>
        )}
      </Fact>
      {gap !== null && (
        <Fact name={t("trace.slice.wait")} tip={t("trace.slice.wait.tip")}>
          <Time ns={gap} />
        </Fact>
      )}
      {descent && descent.tasks.total > 0 && (
        <Fact name={t("trace.descent.tasks")}>
          <Time ns={descent.device_ns} />
          <span class="muted"> · {t("trace.descent.count", { count: integer(descent.tasks.total) })}</span>
        </Fact>
      )}
      {queue !== null && (
        <Fact name={t("trace.slice.queue")} tip={t("trace.slice.queue.tip")}>
          {integer(queue)}
        </Fact>
      )}
      {detail.category && <Fact name={t("trace.slice.category")}>{detail.category}</Fact>}
      {detail.parent && (
        <Fact name={t("trace.slice.parent")}>
          <SliceLink session={session} id={detail.parent.id} name={detail.parent.name} />
        </Fact>
      )}
    </dl>
  );
}

/** Time since the end of the previous slice on the same row; null without one. */
function useGap(session: TraceSession, detail: SliceDetailJson): number | null {
  const [gap, setGap] = useState<{ of: SliceDetailJson; ns: number } | null>(null);
  useEffect(() => {
    if (detail.previous === null) return;
    let isGone = false;
    session.selection.load(detail.previous).then(
      (before) => !isGone && setGap({ of: detail, ns: detail.start - before.start - before.dur }),
      () => {}, // the gap is optional; errors of the slice itself are shown elsewhere
    );
    return () => {
      isGone = true;
    };
  }, [detail]);
  return gap?.of === detail ? gap.ns : null;
}

function Time({ ns }: { ns: number }) {
  return (
    <span class="mono" data-tip={exactDuration(ns)}>
      {duration(ns)}
    </span>
  );
}

function Fact({ name, tip, children }: { name: string; tip?: string; children: ComponentChildren }) {
  return (
    <>
      <dt {...(tip ? { "data-tip": tip } : {})}>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Facts about the slice from the kernel table, which the trace lacks. */
function Kernel({ facts }: { facts: KernelFactsJson }) {
  const blocks = [facts.block_dim, facts.mix_block_dim || null].filter((count) => count !== null);
  const core = [facts.core, blocks.length > 0 && t("trace.kernel.blocks", { count: blocks.map(integer).join(" + ") })];
  const inputs = tensors(facts.input_shapes, facts.input_types, facts.input_formats);
  const outputs = tensors(facts.output_shapes, facts.output_types, facts.output_formats);
  return (
    <>
      <h3 class="trace-sub">{t("trace.kernel.source", { file: facts.source })}</h3>
      <dl class="facts">
        {facts.core !== null && <Fact name={t("trace.kernel.core")}>{core.filter(Boolean).join(" · ")}</Fact>}
        {facts.type !== null && <Fact name={t("trace.kernel.type")}>{facts.type}</Fact>}
        {facts.bound !== null && (
          <Fact name={t("trace.kernel.bound")} tip={t("trace.kernel.bound.tip")}>
            {facts.bound}
          </Fact>
        )}
        {facts.wait_ns !== null && (
          <Fact name={t("trace.kernel.wait")} tip={t("trace.kernel.wait.tip")}>
            <Time ns={facts.wait_ns} />
          </Fact>
        )}
        {inputs.length > 0 && <Fact name={t("trace.kernel.inputs")}>{inputs.map(tensorLine)}</Fact>}
        {outputs.length > 0 && <Fact name={t("trace.kernel.outputs")}>{outputs.map(tensorLine)}</Fact>}
      </dl>
    </>
  );
}

function tensorLine(text: string, index: number) {
  return (
    <div key={index} class="mono">
      {text}
    </div>
  );
}

function Arguments({ detail }: { detail: SliceDetailJson }) {
  const pairs = Object.entries(detail.args ?? {}).filter(([key]) => key !== "Call stack");
  return (
    <>
      <h3 class="trace-sub">{t("trace.slice.args")}</h3>
      {detail.args_error && <p class="muted">{textOf(detail, "args_error")}</p>}
      {pairs.length === 0 && !detail.args_error && <p class="muted">{t("trace.slice.args.none")}</p>}
      <Pages items={pairs}>
        {(shown) => (
          <dl class="facts">
            {shown.map(([key, value]) => (
              <Fact key={key} name={key}>
                <span class="mono">{argument(value)}</span>
              </Fact>
            ))}
          </dl>
        )}
      </Pages>
    </>
  );
}

function Stack({ detail }: { detail: SliceDetailJson }) {
  if (!detail.stack || detail.stack.length === 0) return null;
  return (
    <>
      <h3 class="trace-sub">{t("trace.slice.stack")}</h3>
      <Pages items={detail.stack}>
        {(shown, first) => (
          <ol class="mono trace-stack" start={first + 1}>
            {shown.map((frame, index) => (
              <li key={index}>{frame}</li>
            ))}
          </ol>
        )}
      </Pages>
    </>
  );
}

/** What is known of a slice of a derived row. */
function DerivedFacts({ session, facts }: { session: TraceSession; facts: DerivedFactsJson }) {
  const { ranks } = session;
  const late = ranks.all.value.find(
    ({ span, rank }) => rank !== null && rank === facts.late_rank && !ranks.isOther(span),
  );
  return (
    <div>
      {facts.lines.map((line) => (
        <p key={line.code}>{sayMessage(line, lang.value)}</p>
      ))}
      <Pages items={facts.related}>
        {(shown) => (
          <dl class="facts">
            {shown.map((one) => (
              <>
                <dt>{textOf(one, "role")}</dt>
                <dd>
                  <SliceLink session={session} id={one.slice.id} name={one.slice.name} />
                </dd>
              </>
            ))}
          </dl>
        )}
      </Pages>
      {late && (
        <TextButton onClick={() => void unfoldRank(session, late.span)}>
          {t("trace.derived.late", { rank: facts.late_rank ?? "" })}
        </TextButton>
      )}{" "}
      {facts.view && (
        <TextButton onClick={() => openView(facts.view as ViewId)}>
          {t("trace.derived.open", { view: viewTitle(facts.view) })}
        </TextButton>
      )}
    </div>
  );
}
