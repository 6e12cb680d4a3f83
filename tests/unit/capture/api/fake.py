"""A Recorder that writes down what it is asked to do; and parsers of the little that it leaves on the disk."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.backend import Json, Progress, Settings

RAW = "raw.json"
#: The arguments of a call that the log shows; of others, none.
SHOWN = {
    "step_begin": slice(1),
    "step_end": slice(1),
    "mark": slice(3),
    "range_start": slice(1, 4),
}


class FakeRecorder:
    """`log` is shared by all recorders of a test; `fail` maps the name of a call to what it raises.

    `last` holds the arguments of the last call of each name."""

    def __init__(
        self, log: list[str], fail: Mapping[str, Exception], seen: list[FakeRecorder], folder: Path, settings: Settings
    ) -> None:
        self.log = log
        self.fail = fail
        self.timeline: Json = []
        self.last: dict[str, tuple[Any, ...]] = {}
        seen.append(self)
        self.folder, self.settings = folder, settings
        self._note("prepare")
        (folder / backend.RAW_FOLDER).mkdir()

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Each method of a Recorder that is not below."""
        if name not in vars(backend.Recorder):
            raise AttributeError(name)

        def call(*arguments: Any) -> None:
            self.last[name] = arguments
            self._note(" ".join([name, *map(str, arguments[SHOWN.get(name, slice(0))])]))

        return call

    def _note(self, what: str) -> None:
        self.log.append(what)
        problem = self.fail.get(what.split()[0])
        if problem:
            raise problem

    def finalize(self, groups: Mapping[str, Any]) -> Mapping[str, Any]:
        self._note("finalize")
        (self.folder / backend.RAW_FOLDER / RAW).write_text(json.dumps({"operators": 3}))
        return {"tb_npu_simulated": {"by": "fake"}}

    def memory_timeline(self, device: str, raw: bool) -> Json:
        return self.timeline


def parse(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    """A result with one operator that has a stack and one that has none."""
    raw = json.loads((folder / backend.RAW_FOLDER / RAW).read_text())
    for done in range(raw["operators"] + 1):
        progress(Progress(done, raw["operators"], "operators"))
    if "db" in export_types:
        (out / "ascend_pytorch_profiler.db").write_bytes(b"")
    if "text" not in export_types:
        return
    (out / "trace_view.json").write_text('[{"name":"aten::add","ph":"X"}]')
    head = (
        "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),Device Self Duration(us),"
        "Device Total Duration(us),Device Self Duration With AICore(us),Device Total Duration With AICore(us)\r\n"
    )
    rows = (
        'aten::add,"2,2","inner.py(3): f;\r\nouter.py(1): main",12.9,12.9,40.5,40.5,0,0\r\n'
        'aten::mul,"2,2",,5,5,6,6,0,0\r\n'
        'aten::view,"2,2","inner.py(4): g;\r\nouter.py(1): main",3.2,3.2,0,0,0,0\r\n'
    )
    (out / "operator_details.csv").write_bytes((head + rows).encode())


PARSER = f"{__name__}:parse"


# -- parsers that end the process that waits for them, or fail half way ----------
def _half(out: Path) -> int:
    """Half a result; gives the process that waits."""
    (out / "trace_view.json").write_text("[{")
    return os.getppid()


def kill_who_waits(folder: Path, out: Path, export_types: Any, progress: Callable[[Progress], None]) -> None:
    """Kill the waiting process; report until the pipe breaks."""
    os.kill(_half(out), signal.SIGKILL)
    while True:
        progress(Progress(1, 1, "operators"))


def interrupt_parent(folder: Path, out: Path, export_types: Any, progress: Any) -> None:
    """Ctrl-C of the process that waits alone."""
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()


def interrupt_and_parse(folder: Path, out: Path, export_types: Any, progress: Any) -> None:
    """Ctrl-C while the training goes on."""
    os.killpg(os.getpgid(os.getppid()), signal.SIGINT)
    parse(folder, out, export_types, progress)


def full_disk(folder: Path, out: Path, export_types: Any, progress: Any) -> None:
    """The disk takes half a result."""
    _half(out)
    raise OSError(errno.ENOSPC, "No space left on device")
