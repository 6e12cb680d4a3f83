"""Every collective of torch.distributed that gloo does, in one real run of two processes.

CASES: what is called, and what the device shall show of it: type, elements of the whole, data type, bytes of an element.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, NamedTuple

from tests.unit.capture.mock.distributed_training import capture, leave

ROWS, COLUMNS = 1024, 8
#: Elements of a tensor, and of what two such tensors have.
ONE, TWO = ROWS * COLUMNS, 2 * ROWS * COLUMNS


class Shown(NamedTuple):
    """An operator of the device. elements: of the whole; count: as HCCL takes it."""

    type: str
    elements: int
    count: int
    data_type: str
    item: int


class Case(NamedTuple):
    """One call on rank `rank`, and what it shall show; `second`: on rank 1 where that is something else."""

    name: str
    run: Callable[[Any, int], Any]
    shown: tuple[Shown, ...]
    second: tuple[Shown, ...] | None = None


def _reduce(elements: int, data_type: str, item: int) -> Shown:
    return Shown("hcom_allReduce", elements, elements, data_type, item)


def _gather(whole: int, data_type: str, item: int) -> Shown:
    return Shown("hcom_allGather", whole, whole // 2, data_type, item)


def _scatter(whole: int, data_type: str, item: int) -> Shown:
    return Shown("hcom_reduceScatter", whole, whole // 2, data_type, item)


def _plain(type_: str, data_type: str, item: int, elements: int = ONE) -> Shown:
    return Shown(type_, elements, elements, data_type, item)


_SEND, _RECEIVE = (_plain(name, "BFP16", 2) for name in ("hcom_send", "hcom_receive"))


class _Tensors:
    """What the calls move."""

    def __init__(self) -> None:
        import torch
        import torch.distributed as dist
        import torch.distributed._functional_collectives as functional

        self.dist, self.functional, self.group = dist, functional, dist.group.WORLD
        self.bf16, self.fp16, self.fp32, self.fp64, self.int64, self.byte = (
            torch.ones(ROWS, COLUMNS, dtype=kind)
            for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64, torch.uint8)
        )
        self.whole, self.half = (torch.ones(rows, COLUMNS, dtype=torch.bfloat16) for rows in (2 * ROWS, ROWS // 2))

    def list_of(self, tensor: Any) -> list[Any]:
        return [tensor.clone(), tensor.clone()]


CASES = (
    Case("all_reduce bf16", lambda t, r: t.dist.all_reduce(t.bf16), (_reduce(ONE, "BFP16", 2),)),
    Case("all_reduce fp16", lambda t, r: t.dist.all_reduce(t.fp16), (_reduce(ONE, "FP16", 2),)),
    Case("all_reduce fp32", lambda t, r: t.dist.all_reduce(t.fp32), (_reduce(ONE, "FP32", 4),)),
    Case("all_reduce fp64", lambda t, r: t.dist.all_reduce(t.fp64), (_reduce(ONE, "FP64", 8),)),
    Case("all_reduce int64", lambda t, r: t.dist.all_reduce(t.int64), (_reduce(ONE, "INT64", 8),)),
    Case("all_reduce uint8", lambda t, r: t.dist.all_reduce(t.byte), (_reduce(ONE, "UINT8", 1),)),
    Case("async", lambda t, r: t.dist.all_reduce(t.bf16, async_op=True).wait(), (_reduce(ONE, "BFP16", 2),)),
    Case("broadcast", lambda t, r: t.dist.broadcast(t.bf16, 0), (_plain("hcom_broadcast", "BFP16", 2),)),
    Case("reduce", lambda t, r: t.dist.reduce(t.bf16, 1), (_plain("hcom_reduce", "BFP16", 2),)),
    Case("all_gather", lambda t, r: t.dist.all_gather(t.list_of(t.bf16), t.bf16), (_gather(TWO, "BFP16", 2),)),
    Case(
        "all_gather_into_tensor",
        lambda t, r: t.dist.all_gather_into_tensor(t.whole, t.bf16),
        (_gather(TWO, "BFP16", 2),),
    ),
    Case(
        "gather", lambda t, r: t.dist.gather(t.bf16, None if r else t.list_of(t.bf16), 0), (_gather(TWO, "BFP16", 2),)
    ),
    Case(
        "scatter",
        lambda t, r: t.dist.scatter(t.bf16, None if r else t.list_of(t.bf16), 0),
        (Shown("hcom_scatter", TWO, ONE, "BFP16", 2),),
    ),
    Case("reduce_scatter", lambda t, r: t.dist.reduce_scatter(t.bf16, t.list_of(t.bf16)), (_scatter(TWO, "BFP16", 2),)),
    Case(
        "reduce_scatter_tensor", lambda t, r: t.dist.reduce_scatter_tensor(t.half, t.bf16), (_scatter(ONE, "BFP16", 2),)
    ),
    Case(
        "all_to_all",
        lambda t, r: t.dist.all_to_all(t.list_of(t.bf16), t.list_of(t.bf16)),
        (_plain("hcom_alltoallv", "BFP16", 2, TWO),),
    ),
    Case(
        "all_to_all_single",
        lambda t, r: t.dist.all_to_all_single(t.bf16.clone(), t.bf16),
        (Shown("hcom_alltoall", ONE, ONE // 2, "BFP16", 2),),
    ),
    Case(
        "all_to_all_single with sizes",
        lambda t, r: t.dist.all_to_all_single(t.bf16.clone(), t.bf16, [ROWS // 2] * 2, [ROWS // 2] * 2),
        (_plain("hcom_alltoallv", "BFP16", 2),),
    ),
    Case("barrier", lambda t, r: t.dist.barrier(), (_reduce(1, "FP32", 4),)),
    Case("send, recv", lambda t, r: t.dist.recv(t.bf16, 0) if r else t.dist.send(t.bf16, 1), (_SEND,), (_RECEIVE,)),
    Case("recv from any", lambda t, r: t.dist.recv(t.bf16) if r else t.dist.send(t.bf16, 1), (_SEND,), (_RECEIVE,)),
    Case(
        "batch_isend_irecv",
        lambda t, r: [
            work.wait()
            for work in t.dist.batch_isend_irecv(
                [
                    t.dist.P2POp(t.dist.isend, t.bf16 if r else t.whole, 1 - r),
                    t.dist.P2POp(t.dist.irecv, t.whole if r else t.bf16, 1 - r),
                ]
            )
        ],
        (_plain("hcom_batchSendRecv", "BFP16", 2, ONE + TWO),),
    ),
    Case(
        "all_reduce_coalesced",
        lambda t, r: t.dist.all_reduce_coalesced([t.bf16, t.half]),
        (_reduce(ONE + ONE // 2, "BFP16", 2),),
    ),
    Case(
        "all_gather_object",
        lambda t, r: t.dist.all_gather_object([None, None], "x" * 75),  # pickled: 90 bytes
        (_gather(2, "INT64", 8), _gather(180, "UINT8", 1)),
    ),
    Case(
        "broadcast_object_list",
        lambda t, r: t.dist.broadcast_object_list(["x" * 75], 0),
        (_plain("hcom_broadcast", "INT64", 8, 1), _plain("hcom_broadcast", "UINT8", 1, 90)),
    ),
    Case(
        "functional all_reduce",
        lambda t, r: t.functional.all_reduce(t.bf16, "sum", t.group).sum(),
        (_reduce(ONE, "BFP16", 2),),
    ),
    Case(
        "functional broadcast",
        lambda t, r: t.functional.broadcast(t.bf16, 0, t.group).sum(),
        (_plain("hcom_broadcast", "BFP16", 2),),
    ),
    Case(
        "functional all_gather_tensor",
        lambda t, r: t.functional.all_gather_tensor(t.bf16, 0, t.group).sum(),
        (_gather(TWO, "BFP16", 2),),
    ),
    Case(
        "functional reduce_scatter_tensor",
        lambda t, r: t.functional.reduce_scatter_tensor(t.bf16, "sum", 0, t.group).sum(),
        (_scatter(ONE, "BFP16", 2),),
    ),
    Case(
        "functional all_to_all_single",
        lambda t, r: t.functional.all_to_all_single(t.bf16, None, None, t.group).sum(),
        (_plain("hcom_alltoallv", "BFP16", 2),),
    ),
    Case(
        "functional all_reduce_coalesced",
        lambda t, r: [x.sum() for x in t.functional.all_reduce_coalesced([t.bf16, t.half], "sum", t.group)],
        (_reduce(ONE + ONE // 2, "BFP16", 2),),
    ),
    Case(
        "functional all_gather_into_tensor_coalesced",
        lambda t, r: [x.sum() for x in t.functional.all_gather_into_tensor_coalesced([t.bf16, t.half], t.group)],
        (_gather(TWO + ONE, "BFP16", 2),),
    ),
    Case(
        "functional reduce_scatter_tensor_coalesced",
        lambda t, r: [
            x.sum() for x in t.functional.reduce_scatter_tensor_coalesced([t.bf16, t.half], "sum", [0, 0], t.group)
        ],
        (_scatter(ONE + ONE // 2, "BFP16", 2),),
    ),
    Case("monitored_barrier", lambda t, r: t.dist.monitored_barrier(), ()),  # HCCL has none
)


def expected(rank: int) -> list[tuple[str, Shown]]:
    """(case, operator) in order."""
    return [
        (case.name, shown)
        for case in CASES
        for shown in (case.shown if not rank or case.second is None else case.second)
    ]


def run_all(rank: int, out: str) -> None:
    """All cases in one step."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    # They meet at a file: a port that is free now may be another's when it is wanted.
    dist.init_process_group("gloo", init_method=f"file://{out}/meeting", rank=rank, world_size=2)
    tensors, model = _Tensors(), torch.nn.Linear(64, 64)

    def step() -> None:
        model(torch.ones(64, 64)).sum().backward()
        for case in CASES:
            case.run(tensors, rank)

    capture(Path(out), step)
    leave()
