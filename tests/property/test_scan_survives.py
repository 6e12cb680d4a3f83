"""Whatever stands in the files that the scan looks into, and beside them: it never fails, the good run is listed, and each
odd folder is a run or listed with its reason."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tb_npu_plugin.discovery.scan import scan
from tests.support.fixtures import FIXTURES

Deed = Callable[[Random, Path], None]

GOOD = "results/level1"
#: Name of a folder -> its fixture.
ODD = {
    "renamed": "results/level1",
    "mindspore": "results/mindspore_same_rank",
    "cluster_text": "recorded/cluster_text",
    "cluster_db": "recorded/cluster_db",
    "hosts": "results/mindinsight_hosts",
    "gpu": "results/kineto_gpu",
    "exported": "results/kineto_exported",
}
#: Files that the scan looks into.
INSIDE = (
    "profiler_info*.json",
    "communication_group.json",
    "cluster_step_trace_time.csv",
    "cluster_analysis.db",
    "hccl.json",
    "host_ips_mapping.txt",
    "*trace.json*",
)
#: A folder without these would be nothing.
SIGNS = ("kernel_details.csv", "cluster_communication.json", "cluster_analysis.db", "step_trace_raw_*", "*trace.json*")
VALUES: tuple[Any, ...] = (
    None,
    True,
    17,
    -1,
    1.5,
    10**4000,
    "x",
    "",
    [],
    {},
    [[17]],
    {"a": None},
    [None],
    "\ud800",
    "9" * 12,
)
NAMES = (
    b"\x1b[31mred\n_ascend_pt",
    b"\xff\xfe.pt.trace.json",
    b"n" * 247 + b"_rank_99",
    "\u202ergb\u0661_ascend_ms".encode(),
    b"rank_999999999999",
    b"profiler_info_\xd9\xa1.json",
    b"a.pt.trace.json.gz.tmp",
)


def mutated(random: Random, value: Any) -> Any:
    """A JSON value with one node replaced."""
    if isinstance(value, (dict, list)) and value and random.random() < 0.8:
        key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value[key] = mutated(random, value[key])
        return value
    return random.choice(VALUES)


def other_json(random: Random, path: Path) -> None:
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = [1]
    text = json.dumps(mutated(random, content))
    path.write_text(random.choice((text, f"[{text}]", text.replace("{", "{" * random.choice((2, 60_000)), 1))))


def noise(random: Random, path: Path) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    for _ in range(random.choice((1, 3, 50))):
        place = random.randrange(len(data))
        data[place : place + random.choice((0, 1, 8))] = random.choice(
            (b"\0", b"\xff\xc0", b'"', b"\x80" * 9, random.randbytes(8))
        )
        data = data or bytearray(b"\0")
    path.write_bytes(data)


def cut(random: Random, path: Path) -> None:
    path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size + 1)])


def replace_by(make: Callable[[Path], object]) -> Deed:
    def replace(random: Random, path: Path) -> None:
        path.unlink()
        make(path)

    return replace


DEEDS: tuple[Deed, ...] = (
    other_json,
    other_json,
    noise,
    noise,
    noise,
    cut,
    cut,
    lambda random, path: (
        path.write_bytes(random.choice((b"", b"[" * 99_999, b'{"a":' * 9999, b"1" * 99_999, random.randbytes(999))))
        and None
    ),
    lambda random, path: path.write_bytes(b"\x1f\x8b" + path.read_bytes()) and None,
    replace_by(Path.mkdir),
    replace_by(os.mkfifo),
    replace_by(lambda path: path.symlink_to("nowhere")),
    replace_by(lambda path: path.symlink_to(path)),
    replace_by(lambda path: path.symlink_to("/dev/zero")),
)


def spoil(random: Random, folder: Path) -> None:
    """Change one file that the scan looks into, delete siblings, and add entries with odd names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    inside = [path for path in files if any(fnmatch.fnmatch(path.name, name) for name in INSIDE)]
    target = random.choice(inside)
    random.choice(DEEDS)(random, target)
    for path in files:
        kept = path == target or any(fnmatch.fnmatch(path.name, name) for name in SIGNS)
        if not kept and random.random() < 0.2:
            path.unlink()
    for name in random.sample(NAMES, 2):
        path = Path(os.fsdecode(os.fsencode(target.parent) + b"/" + name))
        random.choice((Path.mkdir, Path.touch, lambda path: path.write_bytes(b"{")))(path)


def check(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    shutil.copytree(FIXTURES / GOOD, folder / "good")
    chosen = random.sample(sorted(ODD), 3)
    for name in chosen:
        shutil.copytree(FIXTURES / ODD[name], folder / "odd" / name)
    if "renamed" in chosen:  # its names tell neither the format nor the rank
        result = next((folder / "odd" / "renamed").iterdir()).rename(folder / "odd" / "renamed" / "mine")
        (result / "profiler_info_0.json").rename(result / "profiler_info.json")
    if "exported" in chosen:
        (folder / "odd" / "exported" / "baseline.json").rename(folder / "odd" / "exported" / "my_trace.json")
    for name in chosen:
        spoil(random, folder / "odd" / name)
    refused = random.choice(sorted(path for path in folder.glob("odd/**") if path.is_dir()))
    real, error = (
        os.scandir,
        random.choice((PermissionError(13, "Permission denied"), OSError(24, "Too many open files"))),
    )

    def scandir(path: Path) -> Any:  # root may read everything, so the refusal is played
        if Path(path) == refused and seed % 4 == 0:
            raise error
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scandir)
        found = scan({"": folder})
    assert [run.label for run in found.runs if run.label.startswith("good")] == ["good"], seed
    paths = [place.span.path for place in found.places()] + [one.path for one in found.skipped]
    assert all(one.reason and one.action for one in found.skipped), seed
    for name in set(chosen) - {"exported"}:  # content alone makes a trace of that one
        assert any(path.startswith((f"odd/{name}", str(refused.relative_to(folder)))) for path in paths), (
            seed,
            name,
            paths,
        )


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(20), id="few"), pytest.param(range(20, 520), id="many", marks=pytest.mark.full)]
)
def test_no_file_stops_the_scan_or_hides_a_run(
    seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for seed in seeds:
        check(seed, tmp_path / str(seed), monkeypatch)
        assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == [], seed
        shutil.rmtree(tmp_path / str(seed))
