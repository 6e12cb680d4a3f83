"""Contents of communication.json and communication_matrix.json of MindSpore.
Source: docs/facts/ascend_ms.md, Communication of MindSpore."""

from __future__ import annotations

import re

from tb_npu_plugin.capture.simulation.records import CommOp
from tb_npu_plugin.capture.writers.communication import Steps
from tb_npu_plugin.capture.writers.communication_figures import Json, Moved, links_of, total_of
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema.torch_npu_json import OP_NAME

_TYPES = re.compile("invalid|broadcast|allreduce|reduce|allgather|reducescatter|scatter|alltoall")


class MarkedSteps(Steps):
    """p2p is told by case-sensitive words, so that hcom_send_ is collective, and no known type of these."""

    WHOLE = names.WHOLE_STEP

    @staticmethod
    def is_p2p(op: CommOp) -> bool:
        """It stands under p2p."""
        return any(word in op.name for word in names.P2P_WORDS)

    @staticmethod
    def matrix_of(ops: list[CommOp]) -> Json:
        """Contents of one kind of communication_matrix.json; all statistics are there, however few operators."""
        by_type: dict[tuple[str, str], dict[tuple[int, int], list[Moved]]] = {}
        for op in ops:
            links = by_type.setdefault((_type(op), op.group.id), {})
            for link, moved in links_of(op).items():
                links.setdefault(link, []).append(moved)
        out: Json = {}
        for (type_, group), links in by_type.items():
            for link, each in links.items():
                each.sort(key=lambda moved: -moved.speed)
                picks = {"top1": each[0], "middle": each[len(each) // 2]}
                picks.update({f"bottom{n}": each[-min(n, len(each))] for n in (1, 2, 3)})
                label = f"{link[0]}-{link[1]}"
                for stat, moved in picks.items():
                    out.setdefault(f"{type_}-{stat}@{group}", {})[label] = _renamed(moved.entry(moved.name))
                out.setdefault(f"{type_}-total@{group}", {})[label] = total_of(each).entry(None)
        return out


def _type(op: CommOp) -> str:
    """Type by the name; where that holds none, the name itself with its group."""
    found = _TYPES.search(op.name.lower())
    return found.group() if found else f"{op.name.lower()}@{op.group.id}"


def _renamed(entry: Json) -> Json:
    return {names.OP_NAME if key == OP_NAME else key: value for key, value in entry.items()}
