"""Each figure of each chip has a source, and docs/capture.md shows both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.capture.simulation.chips import CHIPS, FIGURES, GB, SOURCES, Chip

DOCS = Path(__file__).parents[4] / "docs" / "capture.md"
LABELS = {
    "cube_cores": "cores with a matrix unit",
    "vector_cores": "cores with a vector unit",
    "clock": "clock, MHz",
    "cube_macs": "FP16 multiply-adds a cycle of a matrix unit",
    "vector_lanes": "FP16 results a cycle of a vector unit",
    "memory": "memory, GiB",
    "bandwidth": "its bandwidth, GB/s",
    "cache": "L2 cache, MiB",
    "cache_read": "bytes a cycle from it, a core",
    "cache_write": "bytes a cycle to it, a core",
    "hccs": "a HCCS link, one way, GB/s",
    "hccs_ranks": "devices that HCCS connects",
    "sio": "between two dies, one way, GB/s",
    "rdma": "RDMA, GB/s",
    "pcie": "PCIe, one way, GB/s",
    "node": "devices of a server",
}
UNITS = {"memory": 1 << 30, "cache": 1 << 20, **dict.fromkeys(("bandwidth", "hccs", "sio", "rdma", "pcie"), GB)}


def shown(chip: Chip, figure: str) -> str:
    """Cell of the table."""
    value = getattr(chip, figure) / UNITS.get(figure, 1)
    return f"{value:.4g} `{chip.sources[figure]}`" if value else f"none `{chip.sources[figure]}`"


def table() -> str:
    """The tables of docs/capture.md."""
    lines = ["| | " + " | ".join(CHIPS) + " |", "|---|" + "---|" * len(CHIPS)]
    lines += [
        f"| {LABELS[figure]} | " + " | ".join(shown(chip, figure) for chip in CHIPS.values()) + " |"
        for figure in FIGURES
    ]
    return "\n".join(
        [*lines, "", "| source | |", "|---|---|", *(f"| `{key}` | {text} |" for key, text in SOURCES.items())]
    )


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_each_figure_has_a_source(chip: Chip) -> None:
    numbers = {name for name, value in vars(chip).items() if isinstance(value, int) and not isinstance(value, bool)}
    assert numbers == set(FIGURES) == set(chip.sources)
    assert all(SOURCES[key] for key in chip.sources.values())


def test_the_documentation_shows_them() -> None:
    assert table() in DOCS.read_text(), f"docs/capture.md is behind. It should hold:\n{table()}"
