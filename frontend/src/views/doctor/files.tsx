import type { DoctorFileJson, DoctorJson, SeenJson, StageCostJson, ViewId } from "../../api/types.gen";
import * as format from "../../base/format";
import { type Key, t, textOf, viewTitle } from "../../i18n";
import { openView } from "../../state/selection";
import { Card, Pages, ProblemList, TableHead, TextButton } from "../../widgets";

const SIGNS: Readonly<Record<DoctorFileJson["state"], string>> = {
  read: "✓",
  damaged: "⚠",
  lost: "✕",
  settings: "✓",
  unused: "–",
  unread: "?",
};

/** Every file of the result with its content, and below it what was lost. */
export function Files({ data: { path, files, costs, more } }: { data: DoctorJson }) {
  const known = files.filter((file) => file.state !== "unread");
  const size = known.reduce((sum, file) => sum + file.bytes, 0);
  const unread = files.length - known.length + more;
  const proof = proofText(files);
  const silent = silentFiles(files);
  const count = [
    t("doctor.files.sub", { count: format.integer(known.length), size: format.bytes(size) }),
    ...(unread > 0 ? [t("doctor.files.unread", { count: format.integer(unread) })] : []),
  ].join("; ");
  return (
    <Card title={t("doctor.files")} subtitle={count}>
      <p class="mono small anywhere" style={{ marginBottom: "8px" }}>
        {path}
      </p>
      <Pages items={[...folders(files)].flatMap(([, own]) => own)}>{(shown) => <FileTable files={shown} />}</Pages>
      {proof && <p class="small">{proof}</p>}
      {silent.map((text) => (
        <p key={text} class="small bad">
          {t("doctor.silent", { what: text })}
        </p>
      ))}
      {costs.map((cost) => (
        <p key={cost.stage} class="muted small">
          {costText(cost)}
        </p>
      ))}
      {more > 0 && <p class="muted small">{t("doctor.files.more", { count: format.integer(more) })}</p>}
    </Card>
  );
}

/** Title, class and tooltip. */
const COLUMNS: readonly [Key, string?, Key?][] = [
  ["doctor.state"],
  ["doctor.file"],
  ["doctor.holds"],
  ["doctor.size", "number"],
  ["doctor.seen", "number", "doctor.seen.tip"],
  ["doctor.told", "", "doctor.told.tip"],
  ["doctor.cpu", "number", "doctor.cpu.tip"],
  ["doctor.memory", "number", "doctor.memory.tip"],
  ["doctor.shown"],
];

function FileTable({ files }: { files: readonly DoctorFileJson[] }) {
  return (
    <div class="doctor-scroll">
      <table class="doctor-files">
        <TableHead cells={COLUMNS.map(([title, look, tip]) => [t(title), look, tip && t(tip)])} />
        {folders(files).map(([folder, own]) => [
          folder && (
            <tbody key={folder}>
              <tr>
                <th colSpan={9} scope="rowgroup" class="mono">
                  {folder}
                </th>
              </tr>
            </tbody>
          ),
          ...own.map((file) => <File key={file.file} file={file} />),
        ])}
      </table>
    </div>
  );
}

/** The files by folder, in the order of the files. */
function folders(files: readonly DoctorFileJson[]): [string, DoctorFileJson[]][] {
  const found = new Map<string, DoctorFileJson[]>();
  for (const file of files) {
    const folder = file.file.slice(0, file.file.lastIndexOf("/") + 1);
    found.set(folder, [...(found.get(folder) ?? []), file]);
  }
  return [...found];
}

function File({ file }: { file: DoctorFileJson }) {
  const { cost } = file;
  const io = cost && t("doctor.io", { read: format.bytes(cost.read_bytes), written: format.bytes(cost.written_bytes) });
  return (
    <tbody data-state={file.state}>
      <tr>
        <td class="state nowrap" data-tip={t(`doctor.state.${file.state}.tip`)}>
          <span aria-hidden="true">{SIGNS[file.state]}</span> {t(`doctor.state.${file.state}`)}
        </td>
        <td class="mono file">{file.file.slice(file.file.lastIndexOf("/") + 1)}</td>
        <td class="holds">
          {textOf(file, "title")}
          {file.is_from_documents && (
            <span class="muted" data-tip={t("doctor.documents.tip")}>
              {" "}
              · {t("doctor.documents")}
            </span>
          )}
        </td>
        <td class="number mono">{format.bytes(file.bytes)}</td>
        <td class="number" data-tip={balanceText(file) || undefined}>
          {seenText(file)}
        </td>
        <td class="told">{sums(file.seen, "told")}</td>
        <td class="number mono" data-tip={io ?? undefined}>
          {cost && format.duration(cost.cpu_ms * 1e6, 1)}
        </td>
        <td class="number mono">{cost && format.bytes(cost.peak_bytes)}</td>
        <td class="links">
          {file.views.map((id) => (
            <TextButton key={id} onClick={() => openView(id as ViewId)}>
              {viewTitle(id)}
            </TextButton>
          ))}
        </td>
      </tr>
      {file.problems.length > 0 && (
        <tr>
          <td />
          <td colSpan={8}>
            <ProblemList problems={file.problems} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

function costText({ stage, total, ...most }: StageCostJson): string {
  return t(stage === "trace" ? "doctor.cost.trace" : "doctor.cost.tables", {
    cpu: format.duration(total.cpu_ms * 1e6, 1),
    mostCpu: format.duration(most.most_cpu_ms * 1e6, 1),
    memory: format.bytes(total.peak_bytes),
    mostMemory: format.bytes(most.most_memory_bytes),
    read: format.bytes(total.read_bytes),
    written: format.bytes(total.written_bytes),
    mostWritten: format.bytes(most.most_written_bytes),
    descriptors: format.integer(total.descriptors),
  });
}

/** The kinds of content, the largest parts of a file first. */
const KINDS = ["rows", "events", "entries", "columns", "cells"] as const;
type Amount = "seen" | "shown" | "told" | "silent";

/** What of a count is neither shown nor told. */
function silentOf({ seen, shown, told }: SeenJson): number {
  return seen - shown - told;
}

/** "12,345 rows, 3 columns": the sums of each kind that is not 0. */
function sums(counts: readonly SeenJson[], amount: Amount, kinds: readonly SeenJson["kind"][] = KINDS): string {
  return kinds
    .map((kind) => [kind, counts.filter((count) => count.kind === kind)] as const)
    .map(
      ([kind, own]) =>
        [kind, own.reduce((sum, one) => sum + (amount === "silent" ? silentOf(one) : one[amount]), 0)] as const,
    )
    .filter(([, count]) => count !== 0)
    .map(([kind, count]) => t(`doctor.kind.${kind}`, { count: format.integer(count) }))
    .join(t("doctor.and"));
}

/** The counts of a file without those of lists inside its entries. */
function mainCounts({ seen }: DoctorFileJson): SeenJson[] {
  const whole = new Set(seen.filter((one) => !one.part).map((one) => one.kind));
  return seen.filter((one) => !one.part || !whole.has(one.kind));
}

/** The content of a file in its main unit. */
function seenText(file: DoctorFileJson): string {
  const main = KINDS.find((kind) => file.seen.some((count) => count.kind === kind));
  return main === undefined ? "" : sums(mainCounts(file), "seen", [main]);
}

/** One line for each count: what was seen, shown and told. */
function balanceText({ seen }: DoctorFileJson): string {
  return seen
    .map((count) => {
      const line = t("doctor.seen.line", {
        seen: sums([count], "seen") || t(`doctor.kind.${count.kind}`, { count: "0" }),
        shown: format.integer(count.shown),
        told: format.integer(count.told),
      });
      return count.part ? `${count.part}: ${line}` : line;
    })
    .join("\n");
}

/** What all files held, and the proof that none of it was lost silently; "" where nothing was counted. */
function proofText(files: readonly DoctorFileJson[]): string {
  const counts = files.flatMap((file) => file.seen);
  if (counts.length === 0) return "";
  const kinds = ["rows", "events", "entries"] as const;
  const told = sums(counts, "told", kinds);
  const seen = sums(files.flatMap(mainCounts), "seen", kinds);
  return told ? t("doctor.proof.told", { seen, told }) : t("doctor.proof", { seen });
}

/** What is neither shown nor told, by file: a defect of this program. */
function silentFiles(files: readonly DoctorFileJson[]): string[] {
  return files
    .filter((file) => file.seen.some((count) => silentOf(count) !== 0))
    .map((file) => `${file.file}: ${sums(file.seen, "silent")}`);
}
