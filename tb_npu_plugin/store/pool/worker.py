"""Worker process that reads one stage of one span at a time: `python -m tb_npu_plugin.store.pool.worker`.

Separate processes use all cores, and a crash, a lack of memory or a kill affects only one stage. A process may be started
before its first request: it loads what both stages need at once, so that nothing is left to load when that arrives.
Protocol: see store/stages.py.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.discovery.model import modified_ns
from tb_npu_plugin.errors import BadFile, BadSetting, NoEvents
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.printable import printable_lines
from tb_npu_plugin.problems import Problem, ProblemLog, problem_of
from tb_npu_plugin.readers.database.origins import count_dropped
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.shared.lost_columns import report_lost_columns
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.row_checks import check_rows, count_changes, within_bounds
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.readers.shared.stray_rows import drop_stray_rows, times_within
from tb_npu_plugin.scan import check_settings
from tb_npu_plugin.schema.formats import FORMATS, Format
from tb_npu_plugin.schema.trace import LAUNCHES
from tb_npu_plugin.schema.trace_events import DEVICE_SIDE, HOST_SIDE
from tb_npu_plugin.store.first_look import FIRST_LOOK, is_due, write_first_look
from tb_npu_plugin.store.pool.ledger import Ledger
from tb_npu_plugin.store.pool.limits import limits_of
from tb_npu_plugin.store.stages import TIMELINE_FOLDER, Request
from tb_npu_plugin.store.tables.index import in_timeline, write_tables
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.layout import load_packing
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import IntArray, Table, known

Send = Callable[[dict[str, Any]], None]
#: Progress is sent at most this often, in seconds.
INTERVAL = 0.1
#: How often a worker looks whether its server still runs, in seconds.
SERVER_CHECK = 0.2
#: Temporary subfolder of the entry being built, with long columns.
COLUMNS_FOLDER = "columns"


class Progress:
    """Counts the bytes read and sends them."""

    def __init__(self, send: Send) -> None:
        self._send_message = send
        self._done = 0
        self._last_sent = 0.0
        self._file = ""
        self._start = 0

    def begin(self, file: str) -> None:
        """Start the next file and send progress."""
        self._file = file
        self._start = self._done
        self._send()

    def end(self, size: int) -> None:
        """The file is done: count its full size, whatever its reader counted."""
        self._done = self._start + size

    def __call__(self, count: int) -> None:
        """`count` more bytes of the file are read."""
        self._done += count
        if time.monotonic() - self._last_sent >= INTERVAL:
            self._send()

    def show(self, preview: Path) -> None:
        """Send progress and the folder of a preview."""
        self._send()
        self._send_message({"preview": str(preview)})

    def _send(self) -> None:
        self._last_sent = time.monotonic()
        self._send_message({"file": self._file, "bytes": self._done})


def load_ahead() -> None:
    """Load what the first trace would load: the scanner, the packing and what numpy.unique needs."""
    import numpy.ma  # noqa: F401

    with suppress(BadSetting, ImportError):  # the request reports it
        check_settings()
        load_packing()


def _end_with_server() -> None:
    """End this process soon after the server was killed: its input ends then, but only the next request would notice."""
    server = os.getppid()
    while os.getppid() == server:
        time.sleep(SERVER_CHECK)
    os._exit(1)


def main() -> None:
    """Serve requests until stdin ends."""
    # Redirect stdout to stderr: printed text must not mix with the protocol.
    protocol = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # A terminal sends ^C to all processes of the server. This one exits at the end of its input, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, name="npu-server-watch", daemon=True).start()
    load_ahead()

    def send(message: dict[str, Any]) -> None:
        protocol.write(json.dumps(message) + "\n")
        protocol.flush()

    for line in sys.stdin:
        request = Request.from_json(json.loads(line))
        tempfile.tempdir = str(request.out)  # temporary files go with it if this process is killed
        limits = limits_of(request.files)
        limits.impose()
        try:
            send({"meta": run(request, send)})
        except BrokenPipeError:
            return  # the server has exited
        except Exception as error:  # the pool turns it into a Problem; this process continues
            number = error.errno if isinstance(error, OSError) else None
            failed = {"failed": f"{type(error).__name__}: {error}", "trace": traceback.format_exc(), "errno": number}
            refused = limits.refused(error)
            send(failed if refused is None else {"exceeded": refused})


def run(request: Request, send: Send) -> dict[str, Any]:
    """Do one request. Returns meta.json of the entry: problems, and facts that lists need without the tables."""
    log = ProblemLog()
    progress = Progress(send)
    ledger = Ledger(request.stage, limits_of(request.files))
    read = _tables if request.stage == "tables" else _trace
    facts = read(request, log, progress, ledger)
    changed = [file.relative for file in request.files if _has_changed(request.folder / file.relative, file.mtime_ns)]
    reported = {problem.file for problem in log.list() if problem.code == "file_changed"}
    log.extend([problem_of("file_changed", relative) for relative in changed if relative not in reported])
    return {
        **facts,
        "problems": [problem.as_json() for problem in log.list()],
        "changed": changed,
        "seen": log.seen.as_json(),
        "cost": ledger.as_json(),
    }


class _Tables:
    """State of the tables stage: the tables read so far."""

    def __init__(self, request: Request, log: ProblemLog, progress: Progress) -> None:
        self._request, self._log, self._progress = request, log, progress
        self._reader = READERS[request.format]
        self._spool = Spool(request.out / COLUMNS_FOLDER)
        self._capture = Capture()
        self._files: dict[str, str] = {}
        self._kinds = {file.relative: file.name for file in request.files}
        self._has_first_look = False
        self._part_rows: dict[str, int] = {}
        self.tables: dict[str, Table] = {}

    def read_settings(self, relative: str) -> None:
        """Read the capture settings."""
        files = [file.relative for file in self._request.files]
        self._capture = self._reader.capture(self._request.folder, files, self._log)

    def read(self, relative: str, left: Sequence[int]) -> None:
        """Read the tables of one file. left: size of this file and of the files after it."""

        def show(make: Callable[[], dict[str, Table]]) -> None:
            if self._has_first_look:
                return
            more, preliminary = make(), copy(self)
            preliminary.tables = {**more, **self.tables}
            preliminary._files = {**dict.fromkeys(more, relative), **self._files}
            preliminary.show_first_look(left)
            self._has_first_look = preliminary._has_first_look

        path = self._request.folder / relative
        reading = Reading(
            path, relative, self._log, self._progress, self._spool, self.tables, show, name=self._kinds[relative]
        )
        found = self._reader.tables(reading)
        self.tables.update(found)
        self._files.update(dict.fromkeys(found, relative))
        self._part_rows.update({name: len(table) for name, table in found.items() if name in self._reader.parts})

    def finish(self, relative: str) -> None:
        """Build the tables that need several files, and select the part of this span."""
        report_lost_columns(
            self.tables, self._files, self._kinds, FORMATS[self._request.format], self._capture, self._log
        )
        files = {name: self._all_pieces(file) for name, file in self._files.items()}
        read = self.tables
        self.tables = drop_stray_rows(self.tables, files, self._log)
        checked = check_rows(self.tables, files, self._log)
        self.tables = self._reader.finish(checked, self._capture, self._log)
        count_changes(read, checked, self.tables, files, self._log)
        count_dropped(read, checked, files, self._log)
        if self._request.part and self._reader.select is not None:
            self.tables = self._reader.select(self.tables, self._request.part)

    def _all_pieces(self, relative: str) -> str:
        """The paths of all pieces of a split file in order, for problems of rows that may be in any of them."""
        spec = FORMATS[self._request.format].file(self._kinds[relative])
        if spec is None or spec.piece(self._kinds[relative]) is None:
            return relative
        pieces = [file for file in self._request.files if spec.matches(file.name)]
        return ", ".join(file.relative for file in sorted(pieces, key=lambda file: spec.piece(file.name) or 0))

    def show_first_look(self, left: Sequence[int]) -> None:
        """Send a first look, once, if it is due. left: sizes of the files not read yet. Spans that share files have
        none, as `finish` separates them."""
        if self._has_first_look or self._request.part or not is_due(self.tables, left):
            return
        folder = self._request.out / FIRST_LOOK
        with suppress(OSError):  # optional: skip it if the disk is full
            problems = [problem.as_json() for problem in self._log.list()]
            write_first_look(folder, self.tables, self.files(), {**self.facts(), "problems": problems})
            self._progress.show(folder)
        self._has_first_look = True

    def facts(self) -> dict[str, Any]:
        """Facts that lists need without the tables."""
        return {
            "capture": msgspec.to_builtins(self._capture),
            "start_ns": _earliest_time(times_within(self.tables)),
            "device_ns": _device_time(self.tables.get("kernels")),
            "kernel_types": _kernel_types(self.tables.get("kernels")),
            "steps": _steps(self.tables.get("step_trace")),
        }

    def files(self) -> dict[str, dict[str, int]]:
        """Rows of each table by the name of their file."""
        alone = {
            name: {_name(file): len(self.tables[name])} for name, file in self._files.items() if name in self.tables
        }
        merged: dict[str, dict[str, int]] = {}
        for part, name in self._reader.parts.items():
            if part in self._part_rows and name in self.tables:
                merged.setdefault(name, {})[_name(self._files[part])] = self._part_rows[part]
        return {**alone, **merged}


def _name(relative: str) -> str:
    return relative.rpartition("/")[2]


def _tables(request: Request, log: ProblemLog, progress: Progress, ledger: Ledger) -> dict[str, Any]:
    """Read all small files and write their tables."""
    columns = request.out / COLUMNS_FOLDER
    columns.mkdir()
    found, format = _Tables(request, log, progress), FORMATS[request.format]
    _read_or_report(_settings_file(request), log, found.read_settings)
    for number, file in enumerate(request.files):
        progress.begin(file.relative)
        spec, left = format.file(file.name), [other.size for other in request.files[number:]]
        if spec is None or not spec.settings:
            with ledger.file(file.relative):
                _read_or_report(file.relative, log, partial(found.read, left=left))
        progress.end(file.size)
        found.show_first_look(left[1:])
    _read_or_report("", log, found.finish)
    index = write_tables(request.out, found.tables, found.files())
    shutil.rmtree(columns)  # mapped columns stay readable
    return {**found.facts(), "tables": index}


def _settings_file(request: Request) -> str:
    """The file that problems of the capture settings name: the first settings file; "" without one."""
    format = FORMATS[request.format]
    files = [(format.file(file.name), file.relative) for file in request.files]
    return next((relative for spec, relative in files if spec is not None and spec.settings), "")


def _earliest_time(columns: Iterable[IntArray]) -> int | None:
    """The earliest time, ns since the epoch."""
    real = [times[times > 0] for times in columns]  # broken rows hold 0
    return min((int(times.min()) for times in real if len(times)), default=None)


def _device_time(kernels: Table | None) -> tuple[int, int] | None:
    """Start of the first and end of the last kernel, ns since the epoch."""
    if kernels is None or not kernels.has("start_ns"):
        return None
    start, dur = kernels.ints("start_ns"), kernels.ints("dur_ns")
    own = known(start) & known(dur)
    return (int(start[own].min()), int((start + dur)[own].max())) if own.any() else None


#: Number of kernel types by which workloads are compared.
_KERNEL_TYPES = 12


def _kernel_types(kernels: Table | None) -> dict[str, float]:
    """Share of computing time of the kernel types that take most, the longest first; of names where there are no types."""
    if kernels is None or not (kernels.has("dur_ns") and kernels.has("name")):
        return {}
    types = kernels.text("type") if kernels.has("type") else kernels.text("name")
    rows = is_computing(kernels) & known(kernels.ints("dur_ns")) & (types.codes >= 0)
    times = np.bincount(types.codes[rows], kernels.ints("dur_ns")[rows], minlength=len(types.values))
    longest = np.argsort(-times, kind="stable")[:_KERNEL_TYPES]
    return {types.values[code]: round(times[code] / times.sum(), 3) for code in longest.tolist() if times[code] > 0}


def _trace(request: Request, log: ProblemLog, progress: Progress, ledger: Ledger) -> dict[str, Any]:
    """Read the trace and write the timeline."""
    file = request.files[0]
    out = request.out / TIMELINE_FOLDER
    out.mkdir()
    progress.begin(file.relative)

    found = ProblemLog()
    reader = READERS[request.format]
    tables: dict[str, Table] = {}
    is_empty = False

    def build(relative: str) -> None:
        nonlocal is_empty
        trace = request.folder / relative
        try:
            size = sum(one.size for one in request.files)
            derived = build_timeline(
                trace, out, found, progress, progress.show, reader.scan, reader.derive, size, request.rebuild
            )
            tables.update(within_bounds(derived, trace.name, found))
            if request.rebuild and "kernels" in tables:
                found.add(_trace_alone(trace.name, FORMATS[request.format]))
        except NoEvents:
            is_empty = True
            if not any(problem.severity == "error" for problem in found.list()):
                raise  # otherwise these errors give the reason

    with ledger.file(file.relative):
        built = _read_or_report(file.relative, log, build) and not is_empty
    # The builder reports file names; problems need paths relative to the result folder.
    places = {_name(one.relative): one.relative for one in request.files}
    log.extend([dataclasses.replace(one, file=places.get(one.file, file.relative)) for one in found.list()])
    log.seen.extend(found.seen, places, file.relative)
    if not built:
        log.seen.lose(file.relative, "events")
        return {"timeline": False, "tables": {}, "base_ns": None, "has_device": None, "marks": [], "steps": []}
    timeline = Timeline.open(out, request.folder / file.relative)
    files = {name: {_name(file.relative): len(table)} for name, table in tables.items()}
    index = write_tables(request.out, tables, files) if tables else {}
    if reader.derive is None and timeline.operator_count:
        index["operators"] = in_timeline(timeline.operator_count, _name(file.relative))
    processes = {track["process"] for track in timeline.tracks if track["kind"] == "slices"}
    has_device = not processes.isdisjoint(DEVICE_SIDE)
    if has_device and not processes.isdisjoint(HOST_SIDE) and LAUNCHES.isdisjoint(timeline.flow_kinds):
        log.add(problem_of("no_launches", file.relative))
    return {
        "timeline": True,
        "tables": index,
        "base_ns": timeline.base_ns,
        "has_device": has_device,
        "marks": [step for step, _, _ in timeline.steps],
        "steps": _steps(tables.get("step_trace")),
    }


def _read_or_report(relative: str, log: ProblemLog, read: Callable[[str], None]) -> bool:
    """Read one file. Returns False and logs a Problem if it cannot be read."""
    try:
        read(relative)
        return True
    except BadFile as error:
        log.add(_unreadable("bad_file", relative, error.message, error.hint or Message("action.export_result")))
    except BrokenPipeError:
        raise
    except OSError as error:
        FileReport(log, relative).os_error(error)
    except (MemoryError, BadSetting):
        raise
    except Exception as error:  # a defect of this plugin must not stop the other files; the log has the traceback
        print(printable_lines(traceback.format_exc()), file=sys.stderr)
        found = f"{type(error).__name__}: {error}"[:200]
        log.add(_unreadable("reader_defect", relative, found, Message("action.report_log")))
    return False


def _trace_alone(trace: str, format: Format) -> Problem:
    kernels = format.file_of("kernels")
    return problem_of("trace_alone", trace, file=kernels.name if kernels is not None else "")


def _unreadable(code: str, relative: str, found: str, action: str) -> Problem:
    return Problem(code, relative, "", Message("expected.result_file"), found, Message("lost.file_all"), action)


def _steps(table: Table | None) -> list[str]:
    """Step numbers for the span's label."""
    return [] if table is None else list(dict.fromkeys(step for step in table.text("step").tolist() if step))


def _has_changed(path: Path, mtime_ns: int) -> bool:
    try:
        return modified_ns(str(path), path.stat()) != mtime_ns
    except OSError:
        return True


if __name__ == "__main__":
    main()
