"""A real worker process that stops at each file until it is let on, to look at what is under way."""

from __future__ import annotations

from pathlib import Path

from tb_npu_plugin.store.pool.process import WorkerProcess

#: Waits before reading a file whose name is in <folder>/hold, and after a preview ("preview-1") whose name is, until it
#: is taken out; says so in <folder>/at. Previews begin after a few kB.
PROGRAM = """
import sys, time
from pathlib import Path
folder = Path({folder!r})
def hold(path):
    while Path(path).name in (folder / "hold").read_text().split():
        (folder / "at").write_text(str(path))
        time.sleep(0.01)
from tb_npu_plugin.readers.text import reader as text
from tb_npu_plugin.scan import source
from tb_npu_plugin.store import first_look
from tb_npu_plugin.store.timeline import build, previews
first_look.MIN_BYTES_LEFT = {rest}
previews.FIRST = source.CHUNK = 8192
read_file, build_timeline = text.read_file, build.build_timeline
def slow_read(reading):
    hold(reading.path)
    return read_file(reading)
def slow_build(path, out, log, progress, preview, *rest):
    hold(path)
    def shown(folder):
        preview(folder)
        hold(folder)
    return build_timeline(path, out, log, progress, shown, *rest)
text.read_file, build.build_timeline = slow_read, slow_build
from tb_npu_plugin.store.pool.worker import main
main()
"""


class Holding:
    """Makes such worker processes. `names`: files to stop at; `rest`: see store.first_look.MIN_BYTES_LEFT."""

    def __init__(self, folder: Path, *names: str, rest: int = 1 << 20) -> None:
        self._folder, self._rest = folder, rest
        folder.mkdir()
        self.hold(*names)
        self.made: list[WorkerProcess] = []

    def __call__(self) -> WorkerProcess:
        process = WorkerProcess(("-c", PROGRAM.format(folder=str(self._folder), rest=self._rest)))
        self.made.append(process)
        return process

    def hold(self, *names: str) -> None:
        """Stop at these files, and let all others go on."""
        new = self._folder / "new"
        new.write_text("\n".join(names))
        new.rename(self._folder / "hold")

    def at(self) -> str:
        """The file that a worker stands at, or stood at last; "" before."""
        path = self._folder / "at"
        return path.read_text() if path.exists() else ""
