/** How the slice came to be, and its flows as links. */

import { useEffect, useState } from "preact/hooks";
import { t } from "../../i18n";
import { flowToken } from "../../timeline/flow_kinds";
import type { FlowJson, SliceDetail } from "./api";
import { type ChainLink, causeOf, chainOf } from "./chain";
import { duration } from "./format";
import type { Selected, TraceSession } from "./session";
import { SliceLink } from "./slice_panel";

interface Props {
  session: TraceSession;
  selected: Selected;
  detail: SliceDetail;
}

export function ChainColumn({ session, selected, detail }: Props) {
  const links = useChain(session, selected, detail);
  const cause = causeOf(detail.id, selected.flows);
  if (links.length < 2) return <div />;
  return (
    <div>
      <h3 class="trace-sub">{t("trace.slice.chain")}</h3>
      <p class="trace-chain">
        {links.map((link, index) => (
          <span key={link.id}>
            {link.id === detail.id ? <b>{link.name}</b> : <SliceLink session={session} id={link.id} name={link.name} />}
            {index < links.length - 1 && <span class="muted"> ▸ </span>}
          </span>
        ))}
      </p>
      {cause && (
        <p class="muted small">
          {t("trace.slice.launch", { time: duration(detail.start - cause.from.start) })} ({cause.kind})
        </p>
      )}
    </div>
  );
}

/** Flows in and out as links. */
export function FlowList({ session, selected, detail }: Props) {
  if (selected.flows.length === 0) return null;
  return (
    <>
      <h3 class="trace-sub">{t("trace.slice.flows")}</h3>
      <ul>
        {selected.flows.map((flow) => (
          <Flow key={`${flow.kind} ${flow.from.id} ${flow.to.id}`} session={session} flow={flow} id={detail.id} />
        ))}
      </ul>
    </>
  );
}

function Flow({ session, flow, id }: { session: TraceSession; flow: FlowJson; id: number }) {
  const isOut = flow.from.id === id;
  const other = isOut ? flow.to : flow.from;
  return (
    <li class="trace-flow">
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

function useChain(session: TraceSession, selected: Selected, detail: SliceDetail): readonly ChainLink[] {
  const [chain, setChain] = useState<{ id: number; links: readonly ChainLink[] }>({ id: -1, links: [] });
  useEffect(() => {
    let isGone = false;
    chainOf(detail, selected.flows, { slice: (id) => session.load(id), flows: (id) => session.loadFlows(id) }).then(
      (links) => !isGone && setChain({ id: detail.id, links }),
      () => {}, // the chain is an extra; the flows below are there
    );
    return () => {
      isGone = true;
    };
  }, [detail.id]);
  return chain.id === detail.id ? chain.links : [];
}
