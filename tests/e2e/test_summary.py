"""Summary events of MindSpore in TensorBoard's dashboards, beside a profile of the same logdir."""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tb_npu_plugin.cli.summary import profile_steps
from tb_npu_plugin.discovery.watch import scan_once
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.stages import STAGES
from tb_npu_plugin.summary.mirror import update
from tests.conftest import FIXTURES
from tests.e2e.conftest import Open
from tests.e2e.tensorboard import tensorboard
from tests.support import summary_files as files

PROFILE = FIXTURES / "demo" / "transformer_910b"


def png(width: int, height: int) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\x80" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_logs(logdir: Path) -> None:
    shutil.copytree(PROFILE, logdir / "output" / "profile")
    steps = [
        files.event(
            step,
            files.scalar("loss/auto", 1 / step),
            files.histogram("weight/auto", [(0.0, 1.0, step), (1.0, 1.0, 2)]),
            files.image("input/auto", png(6, 8)),
        )
        for step in (1, 2, 3)
    ]
    run = logdir / "output" / "summary" / "rank_0"
    files.write(run, files.graph({"net/MatMul": ["x"]}, ["x"]), *steps)
    files.write(run, files.train_lineage("Momentum", 0.1, 3), name=files.name_of(end="_lineage"))


@pytest.mark.full
def test_dashboards_and_the_profile_show_one_logdir(
    open_plugin: Open, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(cache))
    logdir, out = tmp_path / "logs", tmp_path / "out"
    write_logs(logdir)
    library = Library(scan_once({"": logdir}))
    library.read(library.scan().places(), STAGES, lambda: None)
    assert update(logdir, out, profile_steps(library)) is not None
    library.close()
    with tensorboard(f"--logdir_spec={logdir},{out}", cache=cache) as url:
        plugin = open_plugin(url, whole=True)
        plugin.open("overview")
        assert plugin.state() == "ready"
        expect(plugin.frame.locator("nav.side")).not_to_contain_text("Summary")
        page = plugin.page
        for tab, shown in (
            ("scalars", "loss/auto"),
            ("histograms", "weight/auto"),
            ("distributions", "weight/auto"),
            ("images", "input/auto"),
            ("graphs", "Default"),
            ("hparams", "learning_rate"),
            ("text", "lineage/train"),
        ):
            page.goto(f"{url}#{tab}")
            found = page.get_by_text(shown).or_(page.locator("svg text", has_text=shown))
            expect(found.locator("visible=true").first, tab).to_be_visible()
        page.goto(f"{url}#text")
        page.get_by_role("link", name="Step 12: 107.75 ms").first.click()
        expect(plugin.main).to_contain_text("107.75 ms on the device", timeout=20_000)
        plugin.close()
