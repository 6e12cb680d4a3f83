"""Share of large packets: what recorders write is what their own distribution of sizes gives, by number of packets."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import FIXTURES

#: MB of 1e6 bytes above which a packet is large.
LARGE = {"RDMA": 0.5, "HCCS": 32, "PCIE": 32, "SIO": 32}


def shares(path: Path) -> list[tuple[float, float]]:
    """(as written, as its packets give it) of every operator and link."""
    out = []
    for step in json.loads(path.read_text()).values():
        for operators in step.values():
            for operator in operators.values():
                for link, figures in operator["Communication Bandwidth Info"].items():
                    if "Large Packet Ratio" not in figures or not figures["Size Distribution"]:
                        continue
                    packets = {float(size): count for size, (count, _) in figures["Size Distribution"].items()}
                    large = sum(count for size, count in packets.items() if size > LARGE[link])
                    out.append((figures["Large Packet Ratio"], round(large / sum(packets.values()), 4)))
    return out


def test_of_the_demo() -> None:
    found = [pair for path in sorted(FIXTURES.glob("demo/*/*/*/communication.json")) for pair in shares(path)]
    assert all(written == counted for written, counted in found)
    assert {written > 0 for written, _ in found} == {True, False}, "both kinds occur"


def test_of_real_data(real_text_run: Path) -> None:
    found = [pair for path in sorted(real_text_run.glob("*/*/communication.json")) for pair in shares(path)]
    assert found and all(written == counted for written, counted in found)
