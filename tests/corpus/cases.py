"""The cases: which result, what is done to it, and which file or folder has to be named."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tests.conftest import FIXTURES

PAGE = b"<!DOCTYPE html><html><body><h1>504 Gateway Time-out</h1></body></html>\n"
RESULTS = FIXTURES / "results"
OUTPUT = "ASCEND_PROFILER_OUTPUT"


@dataclass(frozen=True)
class Case:
    """One mutilated result.

    name   folder name
    base   folder of fixtures/results
    what   in words, for the table
    apply  does it, given the copy of the base
    names  part of a file or folder name that must be reported; "" where nothing is lost
    """

    name: str
    base: str
    what: str
    apply: Callable[[Path], None]
    names: str


def shortened(path: Path, more: bytes = b"", *, share: float = 0.5) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)] + more)


def folder(path: Path) -> None:
    """A folder of that name."""
    path.unlink()
    path.mkdir()


#: Words of the table -> what is done.
DAMAGES: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "emptied": lambda path: path.write_bytes(b""),
    "cut in the middle": shortened,  # as after a full disk
    "renamed": lambda path: path.rename(path.with_name(f"copy of {path.name}")),
    "saved as UTF-16": lambda path: path.write_bytes(path.read_bytes().decode("utf-8", "replace").encode("utf-16")),
    "replaced by an error page": lambda path: path.write_bytes(PAGE),  # of a proxy, where a download should be
    "ends in zeros": lambda path: shortened(path, bytes(4096), share=0.75),  # as after a crash of the host
    "a folder of that name": folder,
}

LINEAR = Recipe("linear", ranks=2, steps=2, only=(0,))
#: Bases that the mock writes; the others are folders of fixtures/results.
WRITTEN: dict[str, Recipe] = {
    "database": replace(LINEAR, options=Options(export=("db",))),
    "text and database": replace(LINEAR, options=Options(export=("text", "db"))),
    "MindSpore": replace(LINEAR, framework="mindspore"),
    "MindSpore, data pipeline": Recipe(
        "tiny", steps=1, framework="mindspore", options=Options(data_process=True, schedule=None, stack=False)
    ),
}
#: Base -> the files of it to which everything happens.
FILES: dict[str, tuple[str, ...]] = {
    "level1": (
        "kernel_details.csv",
        "step_trace_time.csv",
        "operator_details.csv",
        "memory_record.csv",
        "communication.json",
        "communication_matrix.json",
        "trace_view.json",
        "profiler_info_0.json",
    ),
    "database": ("ascend_pytorch_profiler_0.db", "analysis.db"),
    "text and database": ("ascend_pytorch_profiler_0.db", "kernel_details.csv", "trace_view.json"),
    "MindSpore": ("kernel_details.csv", "trace_view.json", "profiler_info_0.json"),
    "MindSpore, data pipeline": ("minddata_pipeline_raw_0.csv", "device_queue_profiling_0.txt"),
    "mindinsight_single": ("step_trace_raw_0_detail_time.csv", "aicore_intermediate_0_detail.csv"),
    "kineto_gpu": ("node1_4242.1795264098085000123.pt.trace.json",),
}


#: What is reported when a file is missing, where that is not its name: a text file that would hold the same, or nothing
#: ("") where another file holds it.
REPORTED_WHEN_MISSING: dict[tuple[str, str], str] = {
    ("database", "ascend_pytorch_profiler_0.db"): "kernel_details.csv",
    ("database", "analysis.db"): "communication.json",
    **{("text and database", file): "" for file in FILES["text and database"]},
    ("MindSpore, data pipeline", "minddata_pipeline_raw_0.csv"): "",
    ("kineto_gpu", FILES["kineto_gpu"][0]): "",
}
#: Cut after a whole line, or made a folder that no kind of result knows: nothing shows that there was more.
SILENT = {
    ("device_queue_profiling_0.txt", "cut in the middle"),
    ("device_queue_profiling_0.txt", "ends in zeros"),
    (FILES["kineto_gpu"][0], "a folder of that name"),
}


def reported_name(base: str, file: str, what: str) -> str:
    """Part of the name that must be reported. Missing files are reported without their rank."""
    if (file, what) in SILENT:
        return ""
    if what in ("removed", "renamed") and (base, file) in REPORTED_WHEN_MISSING:
        return REPORTED_WHEN_MISSING[base, file]
    return file.partition("_0.")[0].partition("_0_")[0]


def cases(every: int = 1) -> Iterator[Case]:
    """All changed folders; every damaged file, or every third etc."""
    damaged = [(base, file, what) for base, files in FILES.items() for file in files for what in DAMAGES]
    for base, file, what in damaged[::every]:

        def apply(root: Path, file: str = file, what: str = what) -> None:
            DAMAGES[what](min(root.rglob(file)))

        yield Case(f"{base} {file} {what}", base, f"`{file}` {what}", apply, reported_name(base, file, what))
    for change, base, what, names in FOLDERS:
        yield Case(change.__name__.replace("_", " "), base, what, change, names)


def output(root: Path) -> Path:
    """The folder of parsed files."""
    return min(root.rglob(OUTPUT), key=lambda path: len(path.parts))


def mixed_releases(root: Path) -> None:
    """Half of the files from a newer release."""
    for path in sorted(next((RESULTS / "new_spellings").rglob(OUTPUT)).glob("*.csv"))[::2]:
        shutil.copy(path, output(root))


def strangers(root: Path) -> None:
    """Files of other people beside and among the results."""
    for folder in (root, output(root).parent, output(root)):
        (folder / "README.html").write_bytes(PAGE)
        (folder / "events.out.tfevents.1700000000.host").write_bytes(bytes(range(256)))
        (folder / "results.csv").write_text("epoch,loss\n1,0.5\n")
        (folder / "trace.json").write_text('{"name": "not ours"}')
        (folder / ".DS_Store").write_bytes(bytes(64))
        (folder / "kernel_details.csv~").write_text("backup")


def output_is_a_file(root: Path) -> None:
    folder = output(root)
    shutil.rmtree(folder)
    folder.write_bytes(PAGE)


def settings_only(root: Path) -> None:
    shutil.rmtree(output(root))


def nested(root: Path) -> None:
    """A copy of the result inside itself."""
    inner = output(root)
    shutil.copytree(inner.parent, root / "copy")
    (root / "copy").rename(inner / inner.parent.name)


#: What happens to whole folders: the function, the base, words for the table, what must be reported.
FOLDERS: tuple[tuple[Callable[[Path], None], str, str, str], ...] = (
    (mixed_releases, "level1", "every other CSV file of a newer release", ""),
    (strangers, "level1", "files of other people everywhere", ""),
    (output_is_a_file, "level1", f"`{OUTPUT}` is a file", "output is a file"),
    (settings_only, "level1", "only the settings", "settings only"),
    (nested, "level1", "a copy of the result inside itself", ""),
)
