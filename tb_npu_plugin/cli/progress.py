"""Shows the progress of reading on the terminal. Imports rich only there: it takes a tenth of a short command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tb_npu_plugin.printable import printable

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
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        whole = bar.add_task("all", total=None)
        shown: dict[tuple[str, str], TaskID] = {}

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
