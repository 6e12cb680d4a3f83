import type { DiffLedgerJson, PresetJson } from "../../api/types.gen";
import * as format from "../../base/format";
import { t } from "../../i18n";
import { places, workerName } from "../../state/catalog";
import { compareCaptures, LETTERS, lastCapture, type Selection } from "../../state/selection";
import { Button, SimulatedMark } from "../../widgets";
import { say } from "../../widgets/parts";
import { ViewLink } from "../../widgets/view_link";
import { lookOf } from "./classes";
import { bothTimelines, momentOf } from "./trace_link";
import { numbersOf } from "./waterfall";

interface Props {
  selection: Selection;
  /** null until the ledgers are there. */
  data: DiffLedgerJson | null;
  pair: string;
}

/** The captures with their step times, pairs worth comparing, and the way to both timelines. */
export function Captures({ selection, data, pair }: Props) {
  const { captures } = selection;
  return (
    <>
      <table class="diff-captures">
        <tbody>
          {captures.map((token, at) => (
            <CaptureRow key={LETTERS[at]} letter={LETTERS[at] ?? ""} token={token} steps={data?.steps ?? []} at={at} />
          ))}
        </tbody>
      </table>
      <div class="row diff-presets">
        <Presets span={captures[0] ?? ""} presets={data?.presets ?? []} />
        <span class="grow" />
        {data && <BothTimelines data={data} pair={pair} captures={captures} />}
      </div>
    </>
  );
}

interface RowProps {
  letter: string;
  token: string;
  steps: DiffLedgerJson["steps"];
  at: number;
}

function CaptureRow({ letter, token, steps, at }: RowProps) {
  const place = places.value.get(token);
  const label = place ? [place.run.label, workerName(place.worker), place.span.label].filter(Boolean).join(" · ") : "";
  const [first, own] = [steps[0] ?? null, steps[at] ?? null];
  const change = !first || own === null || at === 0 ? null : own - first;
  const share = change === null || !first ? "" : `${format.signedDecimals((100 * change) / first, 1)} %`;
  return (
    <tr>
      <td>
        <b class="diff-letter">{letter}</b>
      </td>
      <th scope="row" class="mono">
        {label || format.UNKNOWN} <SimulatedMark span={place?.span} />
      </th>
      <td class="mono" data-tip={format.exactDuration(own)}>
        {own !== null && format.duration(own, 2)}
      </td>
      <td class={`mono ${lookOf(change ?? 0, share)}`}>{share}</td>
      <td class="muted">{at === 0 && t("diff.baseline")}</td>
    </tr>
  );
}

/** Pairs of the run of a capture, and the last capture like it. */
function Presets({ span, presets }: { span: string; presets: readonly PresetJson[] }) {
  const last = lastCapture(places.value, span);
  if (presets.length === 0 && !last) return null;
  return (
    <>
      <span class="muted">{t("diff.presets")}</span>
      {presets.map((one) => (
        <Button key={one.kind} onClick={() => compareCaptures([one.baseline, one.experimental], one.step || null)}>
          {say(one.title)}
        </Button>
      ))}
      {last && <Button onClick={() => compareCaptures([span, last])}>{t("diff.presets.last")}</Button>}
    </>
  );
}

interface BothProps {
  data: DiffLedgerJson;
  pair: string;
  captures: readonly string[];
}

function BothTimelines({ data, pair, captures }: BothProps) {
  const numbers = numbersOf(data.names, pair);
  const [at] = numbers;
  const tokens = numbers.map((number) => captures[number] ?? "");
  const state = bothTimelines(tokens, momentOf(data.starts[at], data.steps[at]));
  return state && tokens[0] !== tokens[1] ? (
    <ViewLink view="trace" state={state}>
      {t("diff.both")} →
    </ViewLink>
  ) : null;
}
