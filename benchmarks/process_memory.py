"""Peak memory of a process and all that it starts, sampled from /proc."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

INTERVAL_S = 0.02
#: The processes a new one may descend from are looked for this often; between, only the known ones are read.
SEARCH_S = 0.1
FIELD = re.compile(r"^(VmHWM|RssAnon|RssShmem):\s*(\d+) kB$", re.M)


class TreeMemory:
    """Samples the memory of process `root` and its descendants while the `with` block runs.

    `anonymous`: bytes, peak of the sum of RssAnon and RssShmem of all of them at one moment: what cannot be dropped
    without being lost. Pages that a fork shares count once in each process. `high_water`: bytes, the sum of every
    process's own peak (VmHWM), mapped files included: an upper bound that no sampling can miss.
    """

    def __init__(self, root: int, wanted: Callable[[str], bool] = lambda command: True) -> None:
        """`wanted`: whether a process counts, told its command line; those that do not are followed all the same."""
        self.root, self.wanted = root, wanted
        self.anonymous = 0
        self.samples = 0
        self.processes = 0
        self._peaks: dict[int, int] = {}
        self._known = {root}
        self._counts: dict[int, bool] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def high_water(self) -> int:
        return sum(self._peaks.values())

    def _watch(self) -> None:
        searched = 0.0
        while True:
            if time.monotonic() - searched >= SEARCH_S:
                self._known |= descendants(self._known)
                searched = time.monotonic()
            self._sample()
            if self._stop.wait(INTERVAL_S):
                return

    def _sample(self) -> None:
        total, living = 0, 0
        for pid in list(self._known):
            sizes = memory(pid)
            if sizes is None:
                self._known.discard(pid)
                self._counts.pop(pid, None)
            elif self._counted(pid):
                living += 1
                total += sizes.get("RssAnon", 0) + sizes.get("RssShmem", 0)
                self._peaks[pid] = max(self._peaks.get(pid, 0), sizes.get("VmHWM", 0))
        self.anonymous = max(self.anonymous, total)
        self.processes = max(self.processes, living)
        self.samples += 1

    def _counted(self, pid: int) -> bool:
        if pid not in self._counts:
            self._counts[pid] = self.wanted(command_line(pid))
        return self._counts[pid]


def memory(pid: int) -> Mapping[str, int] | None:
    """VmHWM, RssAnon and RssShmem of a process in bytes; None when it has ended."""
    try:
        found = FIELD.findall(Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return None
    return {name: int(kilobytes) * 1024 for name, kilobytes in found} or None  # a zombie has none of them


def command_line(pid: int) -> str:
    """The command of a process, with spaces between its arguments; "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def descendants(of: set[int]) -> set[int]:
    """Ids of all processes below these."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # ended meanwhile
            parents[int(entry.name)] = int(after_name[1])
    found = set(of)
    while True:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        if not more:
            return found - of
        found |= more
