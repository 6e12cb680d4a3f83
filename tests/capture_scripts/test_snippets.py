"""The snippets of the vendor's guide run under `tb-npu run`, and programs of our own in the same forms."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from tests.capture_scripts.snippets import OTHERS, PRELUDE, SNIPPETS, Snippet
from tests.support.real_data import REAL_DATA
from tests.unit.capture.device.test_device import RUN, run
from tests.unit.capture.scripts import needs_torch

DOCUMENT = REAL_DATA.parent / "vendor-docs/001_604926c0bd83b9cf.txt"
needs_document = pytest.mark.skipif(not DOCUMENT.exists(), reason=f"no vendor documentation: {DOCUMENT} is missing")
#: A line that may be code: of Python, or a command.
CODE = re.compile(
    r"\s*((import|from|with|for|if|def|class|return|print)\b[ (]|[\w.]+ ?= ?\S|[\w.]+\(|(git|cd|pip3?|python3?|tensorboard) |\./)"
)
CHINESE = re.compile("[\u4e00-\u9fff]")
OWN = sorted((Path(__file__).parent / "own").glob("*.py"))


def code_of(snippet: Snippet) -> str:
    """A program of the lines of the document, repaired."""
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()[snippet.first - 1 : snippet.last]
    text = textwrap.dedent("\n".join(lines)) + "\n"
    for repair in snippet.repairs:
        assert text.count(repair.text) == 1, repair
        text = text.replace(repair.text, repair.instead)
    return PRELUDE + snippet.before + (textwrap.indent(text, "    ") if snippet.indent else text)


@needs_document
def test_every_line_of_code_is_run_or_has_a_reason() -> None:
    ranges = [*((one.first, one.last) for one in SNIPPETS.values()), *OTHERS]
    known = {number for first, last in ranges for number in range(first, last + 1)}
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    left = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if CODE.match(line) and not CHINESE.search(line) and number not in known
    ]
    assert left == []
    for name, snippet in SNIPPETS.items():
        compile(code_of(snippet), name, "exec")


@pytest.mark.full
@needs_torch
@needs_document
@pytest.mark.parametrize("name", SNIPPETS)
def test_snippet(name: str, tmp_path: Path) -> None:
    snippet = SNIPPETS[name]
    script = tmp_path / "script.py"
    script.write_text(code_of(snippet))
    out, errors = run([*RUN, script], tmp_path)
    assert "[ERROR]" not in out and "Traceback" not in errors
    for pattern in snippet.makes:
        assert list(tmp_path.glob(pattern)), (pattern, out)
    if name.startswith("metadata") or name == "add_metadata":
        (metadata,) = tmp_path.glob("*_ascend_pt/profiler_metadata.json")
        assert [value for key, value in json.loads(metadata.read_text()).items() if "key" in key]


@pytest.mark.full
@needs_torch
@pytest.mark.parametrize("script", OWN, ids=lambda script: script.stem)
def test_our_own(script: Path, tmp_path: Path) -> None:
    out, errors = run([*RUN, script], tmp_path)
    assert out.rstrip().endswith("checked"), out + errors
    assert "[ERROR]" not in out
    assert ("Recorded steps: 2 of 3" in out) == (script.stem == "offline")


@pytest.mark.full
@needs_torch
@pytest.mark.parametrize("order", [("torch", "torch_npu"), ("torch_npu", "torch")], ids="-".join)
def test_order_of_imports(order: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    lines = [*(f"import {name}" for name in order), "assert torch.ones(2).npu().sum().item() == 2"]
    script.write_text("\n".join([*lines, "assert torch_npu.profiler.profile"]))
    run([*RUN, script], tmp_path)
