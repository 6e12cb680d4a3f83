"""What commands and logs print of names and cells that come from anybody, and that every command starts."""

from __future__ import annotations

import json
import logging
import time
import unicodedata
from pathlib import Path

import pytest

from tb_npu_plugin.cli import output
from tb_npu_plugin.cli.entry import COMMANDS
from tb_npu_plugin.printable import Lines, package_logger, printable
from tests.support.cli import run
from tests.support.trace import event, metadata
from tests.unit.store.results import KERNELS, NAME, settle, write_result

#: Moves the cursor, sets the title, colours, rings, reorders, begins another line.
HOSTILE = "a\x1b[2J\x1b]0;t\x07\x9b31m\x90q\x9c\u202eb\u2066c\u200ed\re\x85f\u2028g"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_starts(command: str) -> None:
    helped = run(command, "--help")
    assert helped.returncode == 0 and f"tb-npu {command}" in helped.stdout + helped.stderr
    if command != "build-device":  # it needs no more to begin
        bare = run(command)
        assert bare.returncode == 2 and "tb-npu" in bare.stderr and "Traceback" not in bare.stderr


def bad_signs(text: str) -> set[str]:
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two ranks whose names and cells are hostile, and a folder that was not taken."""
    folder = tmp_path_factory.mktemp("hostile") / "logs"
    job = folder / f"run{HOSTILE}\n"
    kernels = KERNELS.replace("aclnnAdd_Add,Add,", f'"{HOSTILE}\nx","{HOSTILE}",').encode("utf-8", "surrogateescape")
    trace = json.dumps([metadata("process_name", 1, name=HOSTILE), event(HOSTILE, 1736408883704000.5, 5.0)])
    for rank in (0, 1):
        result = job / NAME.replace("host1_4242", f"h{HOSTILE}_{rank}")
        write_result(result, rank=rank)
        output = result / "ASCEND_PROFILER_OUTPUT"
        (output / "kernel_details.csv").write_bytes(kernels)
        (output / "trace_view.json").write_text(trace)
        (output / f"x{HOSTILE}.csv").write_text("")
        (output / "op_statistic.csv").write_text(f"{HOSTILE},Count\nx,y{HOSTILE}\n")
    (folder / f"n{HOSTILE}_1_20250109154804123_ascend_pt" / "PROF_1").mkdir(parents=True)
    settle(folder)
    return folder


@pytest.mark.slow
def test_no_command_prints_control_characters(hostile: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (job,) = (path for path in hostile.iterdir() if path.name.startswith("run"))
    config = tmp_path / f"c{HOSTILE}.json"
    config.write_text(f'{{"{HOSTILE}": 1}}')
    commands: list[tuple[object, ...]] = [
        ("ingest", hostile),
        ("doctor", hostile),
        ("diagnose", job),
        ("diff", *sorted(job.iterdir())),
        ("export-trace", job, "--out", tmp_path / "x.json"),
        ("check-config", config),
        ("summary", hostile, tmp_path / "events"),
        ("show", "overview", tmp_path / HOSTILE),
        *(("show", view, sorted(job.iterdir())[0]) for view in ("overview", "kernel")),
    ]
    seen = ""
    for command in commands:
        done = run(*map(str, command))
        printed = done.stdout + done.stderr + "".join(capfd.readouterr())  # of workers, too
        assert bad_signs(printed) == set(), (command[:2], printed)
        assert "Traceback" not in printed, printed
        assert printed, command
        seen += printed
    assert seen.count("\ufffd") > 100, "the names are printed"


@pytest.mark.defect
def test_logs_have_no_control_characters(caplog: pytest.LogCaptureFixture) -> None:
    logger = package_logger("tb_npu_plugin.test")
    logger.warning("%s of %d: %s", HOSTILE, 3, ValueError(f"{HOSTILE}\n"))
    logger.warning("one\n%s", Lines(f"{HOSTILE}\nnext"))
    try:
        raise ValueError(f"{HOSTILE}\nforged line")
    except ValueError:
        logger.exception("failed")
    assert bad_signs(caplog.text) == set() and "of 3: a\ufffd[2J" in caplog.text
    first, second, third = (logging.Formatter().format(record) for record in caplog.records)
    assert first.count("\n") == 0 and second.count("\n") == 2 and third.startswith("failed\nTraceback")


def test_what_is_printable_stays() -> None:
    assert printable("算子 é\u3000x\xa0y 🙂") == "算子 é\u3000x\xa0y 🙂"
    assert printable("a\tb\n\ud800\udc80\x00") == "a\ufffdb\ufffd\ufffd\ufffd\ufffd"


def test_counts_of_many_tables_are_summed_in_linear_time() -> None:
    tables = [{"kind": "rows", "part": f"t{number}", "seen": 1, "shown": 1, "told": 0} for number in range(10_000)]
    whole = {"kind": "columns", "part": "", "seen": 3, "shown": 2, "told": 1}
    before = time.process_time()
    assert output._seen([*tables, whole]) == "10,000 rows, 1 column left out"
    assert time.process_time() - before < 1
