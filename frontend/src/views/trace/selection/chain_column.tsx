/** The call chain of the slice, and its flows as links. */

import { useEffect, useState } from "preact/hooks";
import type { ChainLinkJson, FlowJson, SliceDetailJson } from "../../../api/types.gen";
import { duration, exactDuration, integer } from "../../../base/format";
import { t } from "../../../i18n";
import { useRequest } from "../../../state/use_request";
import { flowToken } from "../../../timeline/colours";
import { PagedItems, TextButton } from "../../../widgets";
import type { TraceSession } from "../session";
import type { Selected } from "./selection";

interface Props {
  session: TraceSession;
  selected: Selected;
  detail: SliceDetailJson;
}

export function ChainColumn({ session, selected, detail }: Props) {
  // The chain is optional: without it the flows remain.
  const { value: chain } = useRequest([detail], (signal) => session.api.chain(detail.id, signal));
  const [isWhole, setWhole] = useState(false);
  useEffect(() => setWhole(false), [detail.id]);
  const cause = causeOf(detail.id, selected.flows);
  if (!chain || (chain.links.length < 2 && !chain.forward && !chain.backward)) return <div />;
  const hidden = isWhole ? 0 : hiddenLinks(chain.links);
  return (
    <div>
      <h3 class="small strong trace-sub">{t("trace.slice.chain")}</h3>
      <div class="trace-chain anywhere">
        {hidden > 0 && (
          <span>
            <TextButton name={t("trace.slice.chain.more", { count: integer(hidden) })} onClick={() => setWhole(true)}>
              …
            </TextButton>
            <span class="muted"> ▸ </span>
          </span>
        )}
        <PagedItems items={chain.links.slice(hidden)}>
          {(link) => (
            <span key={link.id}>
              {link.id === detail.id ? (
                <b>{link.name}</b>
              ) : (
                <>
                  <SliceLink session={session} id={link.id} name={link.name} />
                  <span class="muted" data-tip={link.via || t("trace.slice.chain.call")}>
                    {" "}
                    ▸{" "}
                  </span>
                </>
              )}
            </span>
          )}
        </PagedItems>
      </div>
      {cause && (
        <p class="muted small" data-tip={exactDuration(detail.start - cause.from.start)}>
          {launchText(cause, detail.start)}
        </p>
      )}
      {(["backward", "forward"] as const).map((way) => {
        const slice = chain[way];
        if (!slice) return null;
        return (
          <p key={way} class="small">
            <span class="muted">{t(`trace.slice.${way}`)}</span>{" "}
            <SliceLink session={session} id={slice.id} name={slice.name} />
          </p>
        );
      })}
    </div>
  );
}

/** "launched 5.153 µs before its start, by …". The clocks of host and device disagree where it starts before its launch. */
export function launchText({ from: { start, name } }: FlowJson, of: number): string {
  return t(of < start ? "trace.slice.launch.after" : "trace.slice.launch", {
    time: duration(Math.abs(of - start)),
    name,
  });
}

/** Flows in and out as links. */
export function FlowList({ session, selected, detail }: Props) {
  if (selected.flows.length === 0) return null;
  return (
    <>
      <h3 class="small strong trace-sub">{t("trace.slice.flows")}</h3>
      <PagedItems items={selected.flows} list="">
        {(flow) => (
          <Flow key={`${flow.kind} ${flow.from.id} ${flow.to.id}`} session={session} flow={flow} id={detail.id} />
        )}
      </PagedItems>
    </>
  );
}

function Flow({ session, flow, id }: { session: TraceSession; flow: FlowJson; id: number }) {
  const isOut = flow.from.id === id;
  const other = isOut ? flow.to : flow.from;
  return (
    <li class="trace-flow small anywhere">
      <span class="swatch" style={{ background: `var(${flowToken(flow.kind)})` }} />{" "}
      <span class="muted">
        {flow.kind} {t(isOut ? "trace.slice.out" : "trace.slice.in")}
      </span>{" "}
      <SliceLink session={session} id={other.id} name={other.name} />{" "}
      <span class="muted">
        {other.process} · {other.thread}
      </span>
    </li>
  );
}

/** Kinds of flow that lead to a device task, the nearest cause first. Backward links are not causes. */
const CAUSES = ["HostToDevice", "async_task_queue", "async_mindspore", "async_npu"];
/** Number of callers shown before the first flow. */
const CALLERS = 4;

/** The incoming flow that launched slice `id`. */
export function causeOf(id: number, flows: readonly FlowJson[]): FlowJson | null {
  const incoming = flows.filter((flow) => flow.to.id === id && CAUSES.includes(flow.kind));
  return incoming.sort((a, b) => CAUSES.indexOf(a.kind) - CAUSES.indexOf(b.kind))[0] ?? null;
}

/** Number of outermost links that are hidden at first. */
export function hiddenLinks(links: readonly ChainLinkJson[]): number {
  const flow = links.findIndex((link) => link.via !== "");
  const last = flow < 0 ? links.length - 1 : flow;
  return Math.max(0, last - CALLERS);
}

/** Selects a slice and shows it. */
export function SliceLink({ session, id, name }: { session: TraceSession; id: number; name: string }) {
  return <TextButton onClick={() => void session.selection.select(id, "sight")}>{name}</TextButton>;
}
