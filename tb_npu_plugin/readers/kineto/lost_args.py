"""Reports args that some events lack and most of their kind have: a profiler writes the same keys for all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.tables import Data, are_known

#: Share of the events of a kind from which on the others must have a key, too.
_MOST = 0.75


def report_lost_args(
    values: Mapping[str, Data], kinds: NDArray[np.int32], rows: NDArray[np.int64], log: ProblemLog
) -> None:
    """Report the events that lack a key that most events of their kind have. values: key -> values; rows: numbers of the
    events."""
    report = FileReport(log, "")
    for key, data in values.items():
        has = are_known(data)
        for kind in np.unique(kinds[~has]).tolist():
            of_kind = kinds == kind
            lost = rows[of_kind & ~has]
            count = int(of_kind.sum())
            if len(lost) < count and len(lost) <= max(1, (1 - _MOST) * count):
                report.add("lost_key", f"event {int(lost[0])}, {key}", count=len(lost), kind=key)
