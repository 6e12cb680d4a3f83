"""The law: a figure that changes because a file was damaged has a note that explains it, and nothing else breaks.

`python -m tests.law.check COUNT SEED` prints the untold ones of other seeds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.law.check import verdicts

#: Share of the mutations with an effect that may be untold.
UNTOLD = 0.01


@pytest.mark.parametrize(
    ("count", "seed"), [(12, 7), pytest.param(500, 1, marks=pytest.mark.full)], ids=["a few", "500"]
)
def test_what_is_lost_is_told(tmp_path: Path, count: int, seed: int) -> None:
    found = list(verdicts(count, seed, tmp_path))
    assert [f"{one.mutation.name}: {one.failure}" for one in found if one.failure] == []
    untold = [f"{one.mutation.name}: {one.done}: {one.changed[:3]}" for one in found if one.is_untold]
    effective = sum(bool(one.changed or one.notes or one.vague) for one in found)
    assert effective >= count / 2
    assert len(untold) <= UNTOLD * effective, "\n".join(untold)
