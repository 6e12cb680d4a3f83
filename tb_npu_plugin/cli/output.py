"""Prints tables and problems on the terminal."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from tb_npu_plugin.cli.view import print_view
from tb_npu_plugin.installation import describe_scanner, tensorboard_defect
from tb_npu_plugin.printable import printable

PIPE_WIDTH = 10_000
#: Labels of DoctorFileJson.state, as on the page.
STATES = {
    "read": "read",
    "damaged": "read in part",
    "lost": "not usable",
    "settings": "settings",
    "unused": "not needed",
    "unread": "not read",
}
#: Code of the basis of a run that needs no explanation.
ONE_FOLDER = "run.folder"
#: How runs are joined.
JOINING = (
    "If they are, join them in the side bar of the page, or start TensorBoard with --logdir_spec=NAME:DIR,NAME:DIR."
)
#: Kinds of content (SeenJson), the first one found is the main unit of a file; in the singular.
_UNITS = {"rows": "row", "events": "event", "entries": "entry", "columns": "column", "cells": "value"}


def view(found: Mapping[str, Any]) -> None:
    """Print a view, its missing data and its problems."""
    console = _console()
    print_view(console, found)
    for item in found["missing"]:
        record = f" To record it, set {item['option']}." if item["option"] else ""
        console.print(f"missing {item['file']}: {escape(item['text'] + record)}")
    problems(console, found["problems"])


def print_ingested(spans: Sequence[Mapping[str, Any]]) -> None:
    """Print one line for each read span."""
    console = _console()
    for span in spans:
        console.print(f"{_title(span)}, {_problems(span['count'])}")


def doctor(listed: Mapping[str, Any]) -> None:
    """Print the found results, the skipped folders and all problems."""
    console = _console()
    for span in listed["spans"]:
        rank = f"rank from {span['rank_source']}" if span["rank_source"] else "rank unknown"
        console.print(f"{_title(span)}, {escape(rank)}")
        console.print(f"  {escape(_capture_line(span['capture']))}")
        for file in span["files"]:
            what = file["title"] if file["state"] == "unread" else _seen(file["seen"])
            form = "form known from documentation alone" if file["is_from_documents"] else ""
            parts = (escape(file["file"]), f"{file['bytes']:,} bytes", what, _file_cost(file["cost"]), form)
            console.print(f"  {STATES[file['state']]:12} {'  '.join(filter(None, parts))}")
        if span["more"]:
            console.print(f"  {STATES['unread']:12} and {span['more']:,} more files")
        for cost in span["costs"]:
            console.print(f"  {_stage_cost(cost)}")
        if span["kernels"] is not None:
            console.print(f"  {escape(_coverage(span['kernels']))}")
        problems(console, span["problems"])
        for item in span["missing"]:
            record = f" To record it, set {item['option']}." if item["option"] else ""
            console.print(f"  missing {escape(item['file'])}: {escape(item['text'] + record)}")
    for run in listed["runs"]:
        if run["texts"]["basis"]["code"] != ONE_FOLDER:
            console.print(f"[bold]{escape(run['label'])}[/bold]  {escape(run['basis'])}")
            console.print(f"  {escape(', '.join(folder['label'] for folder in run['folders']))}")
    labels = {run["id"]: run["label"] for run in listed["runs"]}
    for offer in listed["offers"]:
        console.print(f"[yellow]one job?[/yellow] {escape(', '.join(map(labels.__getitem__, offer['runs'])))}")
        console.print(f"  {escape(offer['reason'])} {JOINING}")
    for item in listed["skipped"]:
        console.print(f"[yellow]not taken[/yellow] {escape(item['path'])}: {escape(item['reason'])}")
        console.print(f"  {escape(' '.join(filter(None, (item['action'], item['command']))))}", soft_wrap=True)
    for item in listed["others"]:
        more = item["count"] - len(item["names"])
        names = ", ".join([*item["names"], *([f"and {more:,} more"] if more else [])])
        console.print(f"other files {escape(item['path'])}: {escape(names)}")
    for item in listed["summaries"]:
        console.print(f"Summary events of MindSpore in {item['folders']} folders. TensorBoard shows them with:")
        console.print(f"  {escape(item['command'])}", soft_wrap=True)
    console.print(f"Trace scanner: {describe_scanner()}")
    if defect := tensorboard_defect():
        console.print(f"[yellow]{escape(defect)}[/yellow]")
    total = sum(span["count"] for span in listed["spans"])
    console.print(f"{len(listed['spans'])} taken, {len(listed['skipped'])} not taken, {_problems(total)}")


def _coverage(found: Mapping[str, Any]) -> str:
    """ "98.0 % of device time in kernels known by name; others: main_kernel 1.200 ms"."""
    others = ", ".join(f"{one['name'] or '–'} {one['total_ns'] / 1e6:.3f} ms" for one in found["unknown"])
    known = f"{100 * found['known_share']:.1f} % of device time in kernels known by name"
    return f"{known}; others: {others}" if others else known


def _seen(counts: Sequence[Mapping[str, Any]]) -> str:
    """What a file held in its main unit, and what of it no view shows: "12,345 rows, 3 rows and 1 column left out"."""
    sums: dict[str, Counter[str]] = {"seen": Counter(), "told": Counter(), "silent": Counter()}
    whole = {one["kind"] for one in counts if not one["part"]}  # lists inside the entries of a file do not count for it
    for one in counts:
        silent = one["seen"] - one["shown"] - one["told"]
        sums["seen"][one["kind"]] += one["seen"] if not one["part"] or one["kind"] not in whole else 0
        sums["told"][one["kind"]] += one["told"]
        sums["silent"][one["kind"]] += silent
    main = next((kind for kind in _UNITS if kind in sums["seen"]), None)
    parts = [
        _amounts(sums["seen"], [main] if main else []),
        _amounts(sums["told"], _UNITS, " left out"),
        _amounts(sums["silent"], _UNITS, " neither shown nor told: a defect of tb-npu"),
    ]
    return ", ".join(filter(None, parts))


def _amounts(sums: Mapping[str, int], kinds: Iterable[str], word: str = "") -> str:
    found = [f"{sums[kind]:,} {_UNITS[kind] if sums[kind] == 1 else kind}" for kind in kinds if sums[kind]]
    return " and ".join(found) + word if found else ""


def _file_cost(cost: Mapping[str, Any] | None) -> str:
    """CPU time and memory that reading a file took."""
    return "" if cost is None else f"{cost['cpu_ms']:,} ms, {_size(cost['peak_bytes'])}"


def _stage_cost(cost: Mapping[str, Any]) -> str:
    """What reading a stage took, and its limits."""
    total = cost["total"]
    return (
        f"reading {'the trace' if cost['stage'] == 'trace' else 'the tables'} took {total['cpu_ms'] / 1000:.1f} s of CPU time "
        f"(limit {cost['most_cpu_ms'] / 1000:.1f}), {_size(total['peak_bytes'])} of memory "
        f"(limit {_size(cost['most_memory_bytes'])}), read {_size(total['read_bytes'])}, wrote "
        f"{_size(total['written_bytes'])} (limit {_size(cost['most_written_bytes'])}), {total['descriptors']} descriptors"
    )


def problems(console: Console, items: Sequence[Mapping[str, Any]]) -> None:
    """Print each problem as a paragraph; a problem at several places of a file has one line for each place."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for item in items:
        key = tuple(item[name] for name in ("severity", "code", "file", "expected", "lost", "action"))
        groups.setdefault(key, []).append(item)
    for (severity, code, file, expected, lost, action), same in groups.items():
        count = sum(item["count"] for item in same)
        times = f" ({count}×)" if count > 1 else ""
        place = f"{file} {same[0]['where']}" if len(same) == 1 else file
        console.print(f"  {severity} [bold]{code}[/bold]{times} {escape(place.strip())}")
        if len(same) == 1:
            found = same[0]["found"]
            console.print(f"    expected {escape(expected)}" + (f", found {escape(found)}" if found else ""))
        else:
            console.print(f"    expected {escape(expected)}, found")
            for item in same:
                console.print(f"      {escape(item['where'])}: {escape(item['found'])}")
        console.print(f"    lost: {escape(lost)} {escape(action)}")


def _title(span: Mapping[str, Any]) -> str:
    """Path, name, state and size of a span."""
    read = [file for file in span["files"] if file.get("state") != "unread"]
    size = sum(file["bytes"] for file in read)
    return (
        f"[bold]{escape(span['path'])}[/bold]  {escape(span['run'])} ▸ {escape(span['worker'])} ▸ "
        f"{escape(span['label'])}: {span['state']}, {len(read)} files, {_size(size)}"
    )


def _size(size: float) -> str:
    """Bytes in the largest unit that gives at least 1."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _problems(count: int) -> str:
    return "1 problem" if count == 1 else f"{count:,} problems"


def _capture_line(capture: Mapping[str, Any]) -> str:
    """Producer and settings of a capture."""
    parts = [
        capture["producer"],
        ", ".join(f"{program} {version}" for program, version in capture["versions"].items()),
        capture["level"] or "level unknown",
        capture["aic_metrics"] or "",
        f"on: {', '.join(capture['recorded'])}" if capture["recorded"] else "",
        "device side simulated" if capture["simulated"] else "",
    ]
    return "; ".join(filter(None, parts))


class _PrintableConsole(Console):
    """A console for texts with markup, cells among them, that hold names from files."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def _console() -> Console:
    """Console on stdout; wide enough not to wrap or cut text in a file or a pipe."""
    return _PrintableConsole() if sys.stdout.isatty() else _PrintableConsole(width=PIPE_WIDTH)


# Shows the progress of reading on the terminal. Imports rich.progress only there: it takes a tenth of a short command.

POLL = 0.05
Bar = Callable[[Sequence[Mapping[str, Any]], int], None]


@contextmanager
def progress(names: Mapping[str, str]) -> Iterator[Bar]:
    """Show progress on stderr if it is a terminal: a total bar, and a bar for each file being read.

    Yields a function of ProgressJson items and the bytes already done outside them. The function sleeps POLL seconds.

    names: display name of each span token.
    """
    if not sys.stderr.isatty():
        yield lambda items, rest: time.sleep(POLL)
        return
    from rich import progress as rich

    measures = (rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn(), rich.TimeRemainingColumn())
    columns = (rich.TextColumn("{task.description}"), *measures)
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        whole = bar.add_task("all", total=None)
        shown: dict[tuple[str, str], rich.TaskID] = {}

        def update(items: Sequence[Mapping[str, Any]], rest: int) -> None:
            done, total = (rest + sum(item[key] for item in items) for key in ("bytes_done", "bytes_total"))
            bar.update(whole, completed=done, total=total or None)
            reading = {(item["span"], item["stage"]): item for item in items if item["state"] == "reading"}
            for key in shown.keys() - reading.keys():
                bar.remove_task(shown.pop(key))
            for key, item in reading.items():
                task = shown.get(key)
                if task is None:
                    task = shown[key] = bar.add_task("")
                name = escape(printable(f"{names.get(key[0], '')} {item['file'].rpartition('/')[2]}"))
                bar.update(task, description=name, completed=item["bytes_done"], total=item["bytes_total"])
            time.sleep(POLL)

        yield update
