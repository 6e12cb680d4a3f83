"""Parses one result folder in a separate process, and shows the progress.

The process is `python -m tb_npu_plugin.capture.api.parser_process PARSER FOLDER OUT TYPE...`. On stdout it prints one JSON list
a line: ["progress", done, total, what], or ["error", message] at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Callable

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api.messages import describe_error
from tb_npu_plugin.capture.backend import Parse, Progress
from tb_npu_plugin.errors import NpuPluginError

#: Called with each report of a parser.
Report = Callable[[Progress], None]
Processes = list["subprocess.Popen[str]"]
#: `what` of the last report of a parser that failed.
_FAILED = "failed"
#: Beginnings of the lines that the process writes, before JSON; others are what a library prints.
_ERROR, _PROGRESS = "error ", "progress "


class ParseFailed(NpuPluginError):
    """A result folder could not be parsed."""

    code = "parse_failed"


def run_parser(folder: Path, out: Path, types: Sequence[str], report: Report, started: Processes | None = None) -> None:
    """Run the parser in a child process, which is added to `started`, and report its progress. ParseFailed with its reason."""
    command = [sys.executable, "-m", "tb_npu_plugin.capture.api.parser_process", backend.PARSER]
    command += [str(folder), str(out), *types]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    failure = ""
    # In a separate session: Ctrl-C reaches only this process, which kills the parser or (in the background) waits for it.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, env=environment, encoding="utf-8", start_new_session=True) as process:
        if started is not None:
            started.append(process)
        try:
            for line in process.stdout or ():
                if line.startswith(_ERROR):
                    failure = json.loads(line[len(_ERROR) :])
                elif line.startswith(_PROGRESS):
                    report(Progress(*json.loads(line[len(_PROGRESS) :])))
                else:
                    print(line, end="", file=sys.stderr)
        except BaseException:  # Ctrl-C above all: the process must not outlive this call
            process.kill()
            raise
    failure = failure or _end_of(process.returncode)
    if failure:
        report(Progress(0, 0, _FAILED))
        raise ParseFailed(failure)


def _end_of(status: int) -> str:
    """Why a process ended that did not say so; "": it succeeded."""
    if status == -signal.SIGTERM:
        return "It was interrupted."
    if status < 0:
        return f"The parsing process was killed by signal {-status}; if memory ran out, use a lower max_process_number."
    return f"The parsing process ended with status {status}." if status else ""


@contextmanager
def progress_bars() -> Iterator[Callable[[str], Report]]:
    """Progress bars on stderr, only their last state if stderr is not a terminal. Yields the function that adds one: it returns
    the function that updates it."""
    # On first use: importing rich costs more than the rest of the capture API.
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    console = Console(stderr=True)
    if console.is_jupyter and not find_spec("ipywidgets"):  # rich would show a warning instead of the bars
        console = Console(stderr=True, force_jupyter=False, force_terminal=False)
    what = TextColumn("{task.fields[what]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), what, TimeElapsedColumn())
    # redirect_stdout: the messages of the API go to stdout as they are
    display = Display(*columns, console=console, redirect_stdout=False)

    def add(name: str) -> Report:
        task = display.add_task(name, total=None, what="")

        def report(at: Progress) -> None:
            if at.what == _FAILED:
                display.update(task, what=_FAILED)
                display.stop_task(task)
            else:
                display.update(task, completed=at.done, total=at.total or None, what=at.what)

        return report

    try:
        display.start()
    except LiveError:  # the training shows a rich display: no bars
        display.disable = True
    try:
        yield add
    finally:
        display.stop()


def main(arguments: list[str]) -> int:
    """What the process does. Exit status 0: parsed."""
    parser, folder, out, *types = arguments
    messages, sys.stdout = sys.stdout, sys.stderr  # stdout carries messages only
    next_report = 0.0

    def report(at: Progress) -> None:
        nonlocal next_report
        if time.monotonic() >= next_report or at.done == at.total:
            next_report = time.monotonic() + 0.1  # s
            print(_PROGRESS + json.dumps(at), file=messages, flush=True)

    try:
        parse: Parse = resolve_name(parser)
        parse(Path(folder), Path(out), types, report)
    except BrokenPipeError:  # the parent process is gone
        shutil.rmtree(out, ignore_errors=True)
        os._exit(1)  # without flushing stdout
    except Exception as problem:  # the parent process prints it
        print(_ERROR + json.dumps(describe_error(problem)), file=messages, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
