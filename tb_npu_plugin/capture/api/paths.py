"""Where result folders are made and what they are called (docs/facts/ascend_pt.md, Folder name)."""

from __future__ import annotations

import os
import re
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture.api.messages import warn

RESULT_SUFFIX = "_ascend_pt"
EXPORT_ONLY_FOLDER = "export_only_prof_dir"
_LONGEST_WORKER_NAME = 225
_LONGEST_FILE_NAME = 255  # bytes, on every file system in use
#: Characters that a folder name may not have, or that garble messages.
_UNFIT = re.compile(r"[/\x00-\x1f\x7f\ud800-\udfff]")
#: Attempts to make a result folder while other ranks remove its parent.
_TRIES = 20


@dataclass
class Place:
    """dir_name and worker_name of the process: tensorboard_trace_handler(...) sets them, the next capture uses them."""

    _dir_name: str | None = None
    _worker_name: str | None = None
    export_only: bool = False

    def configure(self, dir_name: Any = None, worker_name: Any = None, export_only: bool = False) -> None:
        """Set all three; an invalid value is replaced by the default, with a warning.

        export_only: without a dir_name and ASCEND_WORK_PATH, folders are temporary.
        """
        self.export_only = export_only
        self._worker_name = self._dir_name = None
        usable = isinstance(worker_name, str) and not _UNFIT.search(worker_name)
        if usable and 0 < len(worker_name) <= _LONGEST_WORKER_NAME:
            self._worker_name = worker_name
        elif worker_name is not None:
            warn("Invalid parameter worker_name, reset it to default.")
        if isinstance(dir_name, str) and dir_name and _is_path(dir_name):
            self._dir_name = dir_name
        elif dir_name is not None:
            warn("Invalid parameter dir_name, reset it to default.")

    def create(self) -> tuple[Path, bool]:
        """Make a result folder; True: it is temporary. OSError on failure."""
        work = os.environ.get("ASCEND_WORK_PATH")
        named = self._dir_name or (work and f"{work}/profiling_data")
        temporary = self.export_only and not named
        base = Path(named or (EXPORT_ONLY_FOLDER if temporary else "."))
        worker = self._worker_name or socket.gethostname()
        moment, tries = datetime.now(), _TRIES  # local time, as torch_npu
        while True:
            stamp = moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"
            rest = f"_{os.getpid()}_{stamp}{RESULT_SUFFIX}"
            start = worker.encode()[: _LONGEST_FILE_NAME - len(rest)].decode(errors="ignore")
            folder = base.absolute() / f"{start}{rest}"
            try:
                folder.mkdir(parents=True, mode=0o750)
                return folder, temporary
            except FileExistsError:
                if not folder.is_dir():
                    raise
                moment += timedelta(milliseconds=1)  # two captures in one millisecond
            except FileNotFoundError:
                if not tries:
                    raise
                tries -= 1  # another rank has just removed the empty folder of temporary ones (remove)


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


PLACE = Place()


def remove(folder: Path) -> None:
    """Delete a result folder; a failure is a warning. Refuses any other folder."""
    if not folder.is_absolute() or not folder.name.endswith(RESULT_SUFFIX):
        warn(f"'{folder}' is no result folder, it is not deleted.")
        return
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        warn(f"Remove temporary profiling data saving path failed: {problem}")
        return
    if folder.parent.name == EXPORT_ONLY_FOLDER:
        with suppress(OSError):  # other ranks have theirs in it, or have removed it
            folder.parent.rmdir()
