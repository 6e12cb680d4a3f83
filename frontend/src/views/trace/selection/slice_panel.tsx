/** Details of the selected slice. */

import type { DerivedFactsJson, DescentJson, KernelFactsJson, SliceDetailJson, ViewId } from "../../../api/types.gen";
import { dateAndTime, integer } from "../../../base/format";
import { lang, t, textOf, viewTitle } from "../../../i18n";
import { sayMessage } from "../../../i18n/messages";
import { openView } from "../../../state/selection";
import { useRequest } from "../../../state/use_request";
import { findTrack, processLabel } from "../../../timeline/rows";
import { Button, Cut, Empty, Facts, Pages, TextButton, Time } from "../../../widgets";
import { CopyButton } from "../../../widgets/shell_command";
import { argument, tensors } from "../format";
import { focus } from "../help/keyboard";
import { unfoldRank } from "../ranks/rank_rows";
import type { TraceSession } from "../session";
import { ChainColumn, FlowList, SliceLink } from "./chain_column";
import { DescentLists } from "./descent_lists";
import type { Selected } from "./selection";

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
  const ask = () => session.selection.descent(detail.id);
  const { value: led, error } = useRequest([detail], detail.derived ? null : ask);
  return (
    <div class="trace-slice">
      <Title session={session} detail={detail} />
      <div class="trace-columns">
        <SliceFacts session={session} selected={selected} detail={detail} descent={led} />
        {detail.derived ? (
          <DerivedFacts session={session} facts={detail.derived} />
        ) : (
          <Recorded session={session} selected={selected} detail={detail} />
        )}
      </div>
      {led && <DescentLists session={session} detail={detail} descent={led} />}
      {error && <Empty text={t("trace.descent.failed", { message: textOf(error, "message") })} />}
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
      <Cut class="muted">{rowName(session, detail)}</Cut>
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
  return (
    <div class="trace-actions">
      <CopyButton key={detail.id} text={session.nameOf(detail)} label="trace.slice.copy" copied="trace.slice.copied" />
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

function SliceFacts({ session, selected, detail, descent }: FactsProps) {
  const queue = descent?.queue ?? null;
  // The gap is optional: errors of the slice itself are shown elsewhere.
  const { previous } = detail;
  const { value: before } = useRequest([detail], previous === null ? null : () => session.selection.load(previous));
  const epoch = t("trace.slice.epoch", {
    exact: integer(detail.start - session.data.zero),
    epoch: detail.start_epoch_ns,
    moment: dateAndTime(detail.start_epoch_ns, session.data.utc_offset_minutes),
  });
  const start = (
    <span class="mono" data-tip={epoch}>
      {session.shownTime(detail.start)}
    </span>
  );
  const children = detail.children > 0 && (
    <span key="children" class="muted">{` · ${t("trace.slice.children")} ${integer(detail.children)}`}</span>
  );
  const tasks = descent && descent.tasks.total > 0 ? descent.tasks.total : 0;
  const count = <span key="count" class="muted">{` · ${t("trace.descent.count", { count: integer(tasks) })}`}</span>;
  return (
    <div>
      {selected.merged > 1 && <p class="muted small">{t("trace.slice.merged", { count: integer(selected.merged) })}</p>}
      <Facts
        facts={[
          [t("trace.slice.start"), start],
          [t("trace.slice.duration"), <Time key="duration" ns={detail.dur} />],
          [t("trace.slice.self"), [<Time key="self" ns={detail.self} />, children], t("trace.slice.self.tip")],
          before && [
            t("trace.slice.wait"),
            <Time key="wait" ns={detail.start - before.start - before.dur} />,
            t("trace.slice.wait.tip"),
          ],
          tasks > 0 && [t("trace.descent.tasks"), [<Time key="tasks" ns={descent?.device_ns} />, count]],
          queue !== null && [t("trace.slice.queue"), integer(queue), t("trace.slice.queue.tip")],
          detail.category !== "" && [t("trace.slice.category"), detail.category],
          detail.parent && [
            t("trace.slice.parent"),
            <SliceLink key="parent" session={session} id={detail.parent.id} name={detail.parent.name} />,
          ],
        ]}
      />
    </div>
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
      <h3 class="small strong trace-sub">{t("trace.kernel.source", { file: facts.source })}</h3>
      <Facts
        facts={[
          facts.core !== null && [t("trace.kernel.core"), core.filter(Boolean).join(" · ")],
          facts.type !== null && [t("trace.kernel.type"), facts.type],
          facts.bound !== null && [t("trace.kernel.bound"), facts.bound, t("trace.kernel.bound.tip")],
          facts.wait_ns !== null && [
            t("trace.kernel.wait"),
            <Time key="wait" ns={facts.wait_ns} />,
            t("trace.kernel.wait.tip"),
          ],
          inputs.length > 0 && [t("trace.kernel.inputs"), inputs.map(tensorLine)],
          outputs.length > 0 && [t("trace.kernel.outputs"), outputs.map(tensorLine)],
        ]}
      />
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
      <h3 class="small strong trace-sub">{t("trace.slice.args")}</h3>
      {detail.args_error && <p class="muted">{textOf(detail, "args_error")}</p>}
      {pairs.length === 0 && !detail.args_error && <p class="muted">{t("trace.slice.args.none")}</p>}
      <Pages items={pairs}>
        {(shown) => <Facts class="figures" facts={shown.map(([key, value]) => [key, argument(value)])} />}
      </Pages>
    </>
  );
}

function Stack({ detail }: { detail: SliceDetailJson }) {
  if (!detail.stack || detail.stack.length === 0) return null;
  return (
    <>
      <h3 class="small strong trace-sub">{t("trace.slice.stack")}</h3>
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
          <Facts
            facts={shown.map(({ slice, ...one }) => [
              textOf(one, "role"),
              <SliceLink key={slice.id} session={session} id={slice.id} name={slice.name} />,
            ])}
          />
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
