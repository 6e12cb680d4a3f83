"""Parses raw data of result folders in child processes, for analyse and the trace handler."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.api.messages import error, info, never_raises, warn
from tb_npu_plugin.capture.api.options import ExportType, supported_export_type
from tb_npu_plugin.capture.api.parser_process import Processes, Report, progress_bars, run_parser
from tb_npu_plugin.capture.api.paths import RESULT_SUFFIX
from tb_npu_plugin.capture.backend import RAW_FOLDER
from tb_npu_plugin.errors import NpuPluginError
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Empty file that marks a complete result.
DONE_FILE = "analyse.done"
#: Infix of the temporary folder, followed by random letters.
_PART = ".part-"
KEEP_RAW = f"Parsing deletes {RAW_FOLDER} unless data_simplification=False."

DEFAULT_PROCESSES = max(1, (os.cpu_count() or 1) // 2)
#: The pool that parses in the background, made on first use.
_background = cache(lambda: ThreadPoolExecutor(DEFAULT_PROCESSES, thread_name_prefix="tb-npu-parse"))
# A forked process has no copy of the pool's threads: tasks for its copy of the pool would never run.
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_background.cache_clear)


def is_result(folder: Path) -> bool:
    """The folder has raw data of a capture; its name does not matter."""
    try:
        children = [child.name for child in folder.iterdir() if child.is_dir()]
    except OSError:  # parsing reports why, if the name is that of a result
        return folder.is_dir() and folder.name.endswith(RESULT_SUFFIX)
    return any(name == RAW_FOLDER or re.match(r"PROF_\d+_\d+_[0-9A-Za-z]+", name) for name in children)


def find_results(path: Path) -> list[Path]:
    """The folder itself if it is a result, else the results directly below it."""
    return [path] if is_result(path) else sorted(child for child in path.iterdir() if is_result(child))


@never_raises()
def analyse(
    profiler_path: str, max_process_number: int = DEFAULT_PROCESSES, export_type: str | list[str] | None = None
) -> None:
    """Parse a result folder, or all result folders directly in a folder, several at a time.

    export_type: "text", "db" or both in a list; None: as it was recorded.
    """
    processes = _checked_processes(max_process_number)
    types = _checked_types(export_type)
    path = Path(os.fspath(profiler_path)).absolute()
    if not path.is_dir():
        error(f"The path '{profiler_path}' is not a folder, nothing is parsed.")
        return
    folders = find_results(path)
    if not folders:
        error(f"No raw profiling data in '{profiler_path}': no folder that holds {RAW_FOLDER} or PROF_*. {KEEP_RAW}")
        return
    if refuse_daemon():
        return
    started: Processes = []
    with progress_bars() as add_bar, ThreadPoolExecutor(min(processes, len(folders))) as pool:
        try:
            list(pool.map(lambda folder: parse_folder(folder, types, add_bar(folder.name), "sync", started), folders))
        except BaseException:  # Ctrl-C reaches only this thread; map has cancelled the folders that have not begun
            for process in started:
                process.terminate()
            raise


def parse_capture(folder: Path, async_mode: bool) -> None:
    """Parse a new capture: now, or in the background (async_mode)."""
    if refuse_daemon():
        return
    if async_mode:
        try:
            # The interpreter waits for these threads before it exits.
            _background().submit(parse_folder, folder, None, lambda at: None, "async")
            return
        except RuntimeError:  # the interpreter is exiting
            pass
    with progress_bars() as add_bar:
        parse_folder(folder, None, add_bar(folder.name), "sync")


def refuse_daemon() -> bool:
    """True, and an error message, in a daemon process, which may not have children."""
    is_daemon = multiprocessing.current_process().daemon
    if is_daemon:
        error(
            "The profiling data cannot be parsed during the daemon process, it is recommended that you use an offline "
            "parsing interface to parse the collected data. For example: from tb_npu_plugin.capture.pytorch import "
            'analyse; analyse("profiling_data_path")'
        )
    return is_daemon


@never_raises()
def parse_folder(
    folder: Path, types: Sequence[str] | None, report: Report, mode: str, started: Processes | None = None
) -> None:
    """Parse one folder into its ASCEND_PROFILER_OUTPUT; a failure is an error message. types None: as it was recorded."""
    with lock(folder):
        began = monotonic()
        info(f"Start parsing profiling data in {mode} mode at: {folder}")
        recorded = side_files.read_info(folder)
        try:
            with _replacing(folder / OUTPUT_FOLDER) as out:
                run_parser(folder, out, types or recorded_types(recorded), report, started)
                (out / DONE_FILE).touch()
        except (OSError, NpuPluginError) as problem:
            error(f"Failed to parsing profiling data. {folder}: {problem}")
            return
        if _setting(recorded, "experimental_config", "_data_simplification") is True:
            try:
                shutil.rmtree(folder / RAW_FOLDER)
            except OSError as problem:
                warn(f"The raw data in {folder / RAW_FOLDER} could not be deleted: {problem}")
        took = timedelta(seconds=monotonic() - began)
        activities = _setting(recorded, "common_config", "activities")
        if isinstance(activities, list) and "ProfilerActivity.NPU" in activities:
            info(f"CANN profiling data parsed in a total time of {took}")
        info(f"All profiling data parsed in a total time of {took}")


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """Yields an empty folder that replaces `folder` on success; on failure the old result stays. Removes temporary folders
    of killed processes."""
    for left in folder.parent.glob(f"{folder.name}{_PART}*"):
        shutil.rmtree(left)
    part = folder.with_name(f"{folder.name}{_PART}{uuid.uuid4().hex[:8]}")
    part.mkdir(mode=0o750)  # minus the umask, which tempfile ignores
    try:
        yield part
        if folder.is_dir():
            shutil.rmtree(folder)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes: they would delete what this one writes."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # parsing reports why; Windows opens no folders
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # processes forked meanwhile have the descriptor too
        os.close(descriptor)


def recorded_types(recorded: dict[str, Any]) -> list[str]:
    """The recorded export types; text if profiler_info has none."""
    found = _setting(recorded, "experimental_config", "_export_type")
    listed = found if isinstance(found, list) else [found]
    return [item for item in listed if _is_export_type(item)] or [ExportType.Text]


def _is_export_type(item: Any) -> bool:
    return isinstance(item, str) and item in supported_export_type()


def _setting(recorded: dict[str, Any], part: str, name: str) -> Any:
    """A setting of profiler_info; None if it is missing or damaged."""
    found: Any = recorded
    for key in ("config", part, name):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _checked_processes(number: Any) -> int:
    cores = os.cpu_count() or 1
    if not isinstance(number, int) or number <= 0:
        warn("Invalid max_process_number, reset it to default!")
        return DEFAULT_PROCESSES
    if number > cores:
        warn("max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!")
    return min(number, cores)


def _checked_types(types: Any) -> list[str] | None:
    found = [types] if isinstance(types, str) else types
    if isinstance(found, list) and found and all(map(_is_export_type, found)):
        return list(dict.fromkeys(found))
    if types is not None:
        warn(f"Invalid parameter export_type: {types}, use the export_type that was recorded.")
    return None
