"""Keeps a folder of TensorBoard's event files up to date with the Summary files below a logdir.

Each run has one event file, which only grows, and a state beside it: how far each source was read. If a source was
replaced, or a writer was interrupted, the run begins anew in another file. One process at a time writes: see `_locked`.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Optional

from google.protobuf.message import DecodeError
from tensorboard.compat.proto import event_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.other_files import LOCK_FILE, parse_summary_name
from tb_npu_plugin.summary import records
from tb_npu_plugin.summary.convert import FILE_VERSION, Converted, Memory, convert_event, convert_lineage
from tb_npu_plugin.summary.records import Record, read_records
from tb_npu_plugin.summary.sources import SummaryRun, find_runs
from tb_npu_plugin.summary.step_times import ProfileSteps, step_events
from tb_npu_plugin.whole_files import write_whole

STATE = "summary_state.json"
_TARGETS = "events.out.tfevents.*.summary"
#: Bytes before the place up to which a source was read, to recognise the source.
_TAIL_BYTES = 16


@dataclass
class Source:
    """How far a source was read. size: of the file then; tail: the bytes before `end`, as hex."""

    end: int = 0
    size: int = 0
    tail: str = ""


@dataclass
class State:
    """State of a run: number of the target file, its bytes, the sources by name, and what was met so far. content: hash
    of the steps of a profile, which are written at once."""

    number: int = 0
    written: int = 0
    events: int = 0
    content: str = ""
    sources: dict[str, Source] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """What a mirror holds: names of the runs with their numbers of events, and every problem."""

    events: dict[str, int]
    problems: list[Problem]

    @property
    def news(self) -> tuple[list[str], list[tuple[str, str, str]]]:
        """What is worth another line on the console: changes with new runs and new problems, not with each event."""
        places = [(item.code, item.file, item.where) for item in self.problems if item.severity != "info"]
        return list(self.events), places


def update(logdir: Path, out: Path, profiles: Sequence[ProfileSteps] = ()) -> Optional[Report]:
    """Convert what is new below `logdir` into `out`, add the steps of these profiles, and remove the runs whose sources
    are gone. None if another process is writing there. Raises OSError if `out` cannot be written."""
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(out / LOCK_FILE) as is_mine:
        if not is_mine:
            return None
        events: dict[str, int] = {}
        problems: list[Problem] = []
        runs = find_runs(logdir)
        for run in runs:
            state, unreadable = _update_run(run, logdir, out / run.name)
            events[run.name] = state.events
            problems += [*state.problems, *unreadable, *_unfinished(run, logdir, state)]
        if runs:
            for profile in profiles:
                _write_profile(profile, out / profile.run)
        _remove_others(out, {out / name for name in (*events, *(profile.run for profile in profiles if runs))})
        return Report(events, problems)


def version() -> str:
    """Hash of the sources that decide what is written."""
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _update_run(run: SummaryRun, logdir: Path, folder: Path) -> tuple[State, list[Problem]]:
    """The state of a run after its update, and the sources that could not be read this time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = _load(folder / STATE)
    if state is None or not _is_continuation(state, run, folder):
        state = _start_anew(folder, 0 if state is None else state.number + 1)
    before = asdict(state)
    unreadable = []
    with _target(folder, state).open("ab") as target:
        for file in run.files:
            relative = str(file.relative_to(logdir))
            try:
                opened = _open_file(file)
            except OSError as error:
                unreadable.append(records.unreadable(relative, error))
                continue
            with opened:
                errors = _append(opened, relative, target, state)
            unreadable += [records.unreadable(relative, error) for error in errors]
        target.flush()
        state.written = target.tell()
    if asdict(state) != before:
        _save(folder / STATE, state)
    return state, unreadable


def _write_profile(profile: ProfileSteps, folder: Path) -> None:
    content = hashlib.blake2b(repr(profile).encode(), digest_size=8).hexdigest()
    state = _load(folder / STATE)
    if state is not None and state.content == content and _is_whole(state, folder):
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = _start_anew(folder, 0 if state is None else state.number + 1)
    with _target(folder, state).open("ab") as target:
        writer = RecordWriter(target)
        for event in step_events(profile):
            writer.write(event.SerializeToString())
        target.flush()
        state.written, state.content = target.tell(), content
    _save(folder / STATE, state)


def _append(opened: BinaryIO, relative: str, target: BinaryIO, state: State) -> list[OSError]:
    """Append what is new in a source to the target. Returns the error that ended reading. Raises OSError if the target
    cannot be written."""
    name = relative.rpartition("/")[2]
    source = state.sources.setdefault(name, Source())
    size = os.fstat(opened.fileno()).st_size
    if size == source.size:
        return []
    errors: list[OSError] = []
    writer = RecordWriter(target)
    for record in _read(opened, source.end, errors):
        converted = _convert(record, name, state.memory)
        if converted is None:
            records.add_problem(state.problems, records.damaged(relative, record))
        else:
            for kind in converted.unsupported:
                records.add_problem(state.problems, records.unsupported(relative, record, kind))
            if converted.event is not None:
                writer.write(converted.event.SerializeToString())
                state.events += 1
        source.end = record.end
    source.tail = _tail(opened, source.end)
    source.size = size if not errors else source.end
    return errors


def _read(opened: BinaryIO, start: int, errors: list[OSError]) -> Iterator[Record]:
    """The records from a byte on. An error of the disk ends them and is added to `errors`."""
    try:
        yield from read_records(opened, start)
    except OSError as error:
        errors.append(error)


def _convert(record: Record, name: str, memory: Memory) -> Converted | None:
    """None for a damaged record."""
    if record.data is None:
        return None
    parsed = parse_summary_name(name)
    try:
        if parsed is not None and parsed.is_lineage:
            return convert_lineage(records.LineageEvent.FromString(record.data), memory)
        return convert_event(records.Event.FromString(record.data), memory)
    except (DecodeError, ValueError):  # UnicodeDecodeError is a ValueError
        return None


def _unfinished(run: SummaryRun, logdir: Path, state: State) -> Iterator[Problem]:
    """Sources whose last record is incomplete: still being written, or cut."""
    for file in run.files:
        source = state.sources.get(file.name)
        if source is not None and source.end < source.size:
            yield records.incomplete(str(file.relative_to(logdir)), source.end, source.size)


def _open_file(file: Path) -> BinaryIO:
    """Open a regular file; a pipe of this name would block. Raises OSError."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError("not a file")
    return file.open("rb")


def _is_continuation(state: State, run: SummaryRun, folder: Path) -> bool:
    """Whether the target is as it was left, and each source holds what was read of it."""
    if state.content or not _is_whole(state, folder):
        return False
    return set(state.sources) <= {file.name for file in run.files} and all(
        _is_same(file, state.sources[file.name]) for file in run.files if file.name in state.sources
    )


def _is_whole(state: State, folder: Path) -> bool:
    """Whether the target is as it was left."""
    try:
        return _target(folder, state).stat().st_size == state.written
    except OSError:
        return False


def _is_same(file: Path, source: Source) -> bool:
    """True for a file that cannot be read as well: what was read of it stays."""
    try:
        size = file.stat().st_size
        if size == source.size:
            return True
        with _open_file(file) as opened:
            return size > source.size and _tail(opened, source.end) == source.tail
    except OSError:
        return True


def _tail(opened: BinaryIO, end: int) -> str:
    start = max(end - _TAIL_BYTES, 0)
    opened.seek(start)
    return opened.read(end - start).hex()


def _start_anew(folder: Path, number: int) -> State:
    """Begin another file. A TensorBoard that runs drops the values of the earlier ones at its second session start.

    It goes on to the next file only if the one that it read exists, so that one is emptied and not removed.
    Source: docs/facts/summary.md, TensorBoard.
    """
    for earlier in folder.glob(_TARGETS):
        os.truncate(earlier, 0)
    state = State(number)
    with _target(folder, state).open("wb") as target:
        writer = RecordWriter(target)
        writer.write(event_pb2.Event(file_version=FILE_VERSION).SerializeToString())
        start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        writer.write(event_pb2.Event(session_log=start).SerializeToString())
        target.flush()
        state.written = target.tell()
    return state


def _target(folder: Path, state: State) -> Path:
    """TensorBoard reads the files of a run in the order of their names."""
    return folder / f"events.out.tfevents.{state.number:010d}.summary"


def _remove_others(out: Path, kept: set[Path]) -> None:
    """Remove runs that an earlier update wrote and that have no source any more. Other files stay."""
    for state in list(out.rglob(STATE)):
        folder = state.parent
        if folder in kept:
            continue
        for target in folder.glob(_TARGETS):
            target.unlink(missing_ok=True)
        state.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            while folder != out:
                folder.rmdir()
                folder = folder.parent


def _load(file: Path) -> State | None:
    """The state of a run; None without a valid one."""
    try:
        fields: dict[str, Any] = json.loads(file.read_bytes())
        fields["sources"] = {name: Source(**source) for name, source in fields["sources"].items()}
        fields["memory"] = Memory(**fields["memory"])
        fields["problems"] = [Problem.from_json(problem) for problem in fields["problems"]]
        return State(**fields)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _save(file: Path, state: State) -> None:
    content = {**asdict(state), "problems": [problem.as_json() for problem in state.problems]}
    write_whole(file, json.dumps(content).encode())


@contextmanager
def _locked(file: Path) -> Iterator[bool]:
    """Hold a lock between processes; False if another one has it. The system ends it with the process."""
    with file.open("a") as opened:
        try:
            import fcntl  # does not exist on every system

            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            yield False
            return
        yield True
