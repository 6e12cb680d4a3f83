"""Progress bars of parsing, on stderr."""

from __future__ import annotations

from importlib.util import find_spec
from types import TracebackType
from typing import Callable

from tb_npu_plugin.capture.backend import Progress

#: Called with each report of a parser.
Report = Callable[[Progress], None]
#: `what` of the last report of a parser that failed.
FAILED = "failed"


class ProgressBars:
    """One bar per folder; only the last state if stderr is no terminal."""

    def __init__(self) -> None:
        # On first use: importing rich costs more than the rest of the capture API.
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Display

        console = Console(stderr=True)
        if console.is_jupyter and not find_spec("ipywidgets"):  # rich would show a warning instead of the bars
            console = Console(stderr=True, force_jupyter=False, force_terminal=False)
        self._display = Display(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[what]}"),
            TimeElapsedColumn(),
            console=console,
            redirect_stdout=False,  # the messages of the API go to stdout as they are
        )

    def __enter__(self) -> ProgressBars:
        from rich.errors import LiveError

        try:
            self._display.start()
        except LiveError:  # the training shows a rich display: no bars
            self._display.disable = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._display.stop()

    def add(self, name: str) -> Report:
        """Add a bar; returns the function that updates it."""
        task = self._display.add_task(name, total=None, what="")

        def report(at: Progress) -> None:
            if at.what == FAILED:
                self._display.update(task, what=FAILED)
                self._display.stop_task(task)
                return
            self._display.update(task, completed=at.done, total=at.total or None, what=at.what)

        return report
