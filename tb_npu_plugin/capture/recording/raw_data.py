"""The raw data of a capture: what the recorder leaves in FRAMEWORK/, and how parsing reads it.

    capture.json   written when the recorder is prepared, and again when the capture is complete:
        format        4
        settings      backend.Settings
        pid, device   of the process; device: index of the simulated NPU
        start, end    ns since the epoch; end null: the capture was interrupted
        tid           thread that started the capture
        threads       [tid, from, to] of child threads that were recorded
        marks         [start, end, tid, message, domain, stream] of mstx; end null: still open; stream null: host only
        collections   [start, end, tid] of the garbage collector
    torch.json     Chrome trace of PyTorch's profiler, as its C++ writes it; only in complete captures
    device.npz     what the simulated device did (device/records.py); without it nothing ran there

Times in capture.json are ns since the epoch.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Optional

import msgspec

from tb_npu_plugin.capture.backend import RAW_FOLDER, Settings
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.schema.torch_npu_json import MOCK_CAPTURE, MOCK_TRACE
from tb_npu_plugin.whole_files import write_whole

FORMAT = 4
CAPTURE, TRACE, DEVICE = MOCK_CAPTURE, MOCK_TRACE, "device.npz"

Mark = tuple[int, Optional[int], int, str, str, Optional[int]]


@dataclass
class HostData:
    """Content of capture.json."""

    settings: Settings
    pid: int
    device: int
    start: int
    tid: int = 0
    end: Optional[int] = None
    threads: list[tuple[int, int, int]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    collections: list[tuple[int, int, int]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write capture.json of a result folder, whole or not at all."""
        content = {"format": FORMAT, **vars(self), "settings": asdict(self.settings)}  # no copy of the marks
        # half of a surrogate pair (a path that is not UTF-8, say), which no result file takes, is replaced
        text = json.dumps(content, ensure_ascii=False)
        write_whole(folder / RAW_FOLDER / CAPTURE, text.encode(errors="replace"))


def read(folder: Path) -> HostData:
    """The host data of a result folder. BadFile if they are missing or damaged."""
    path = folder / RAW_FOLDER / CAPTURE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            raise BadFile(f"{path} was written by another version", "Parse it with the version that recorded it.")
        data = msgspec.convert(content, HostData)
    except FileNotFoundError:
        advice = "The folder was not recorded by the mock device; record it again."
        raise BadFile(f"{path} is missing", advice) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, msgspec.MsgspecError) as problem:
        raise BadFile(f"{path} cannot be used: {problem}", "Record it again.") from problem
    if data.end is None or not (folder / RAW_FOLDER / TRACE).is_file():
        raise BadFile(
            f"nothing that was recorded is in {folder}: the capture still runs, or its process was killed, "
            "or the disk was full when it ended, and PyTorch hands out what it recorded only then",
            "Remove the folder and record again: with fewer active steps if the process ran out of memory, or on another disk.",
        )
    return data
