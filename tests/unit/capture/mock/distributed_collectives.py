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
    data_type: str = "BFP16"

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return SIZES[self.data_type]


class Case(NamedTuple):
    """One call on rank `rank`, and what it shall show; `second`: on rank 1 where that differs."""

    name: str
    run: Callable[[Any, int], Any]
    shown: tuple[Shown, ...]
    second: tuple[Shown, ...] | None = None


SIZES = {"BFP16": 2, "FP16": 2, "FP32": 4, "FP64": 8, "INT64": 8, "UINT8": 1}
REDUCE = Shown("hcom_allReduce", ONE, ONE)
GATHER = Shown("hcom_allGather", TWO, ONE)
SCATTER = Shown("hcom_reduceScatter", TWO, ONE)
BROADCAST = Shown("hcom_broadcast", ONE, ONE)
SEND, RECEIVE = Shown("hcom_send", ONE, ONE), Shown("hcom_receive", ONE, ONE)


class _Tensors:
    """What the calls move."""

    def __init__(self) -> None:
        import torch
        import torch.distributed as dist
        import torch.distributed._functional_collectives as functional

        self.dist, self.functional, self.group = dist, functional, dist.group.WORLD
        kinds = (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64, torch.uint8)
        self.of = {name: torch.ones(ROWS, COLUMNS, dtype=kind) for name, kind in zip(SIZES, kinds)}
        self.one = self.of["BFP16"]
        self.whole, self.half = (torch.ones(rows, COLUMNS, dtype=torch.bfloat16) for rows in (2 * ROWS, ROWS // 2))

    def pair(self) -> list[Any]:
        return [self.one.clone(), self.one.clone()]


def _exchange(t: _Tensors, rank: int) -> None:
    mine, theirs = (t.one, t.whole) if rank else (t.whole, t.one)
    batch = [t.dist.P2POp(t.dist.isend, mine, 1 - rank), t.dist.P2POp(t.dist.irecv, theirs, 1 - rank)]
    for work in t.dist.batch_isend_irecv(batch):
        work.wait()


CASES = (
    *(Case(n, lambda t, r, n=n: t.dist.all_reduce(t.of[n]), (Shown("hcom_allReduce", ONE, ONE, n),)) for n in SIZES),
    Case("async", lambda t, r: t.dist.all_reduce(t.one, async_op=True).wait(), (REDUCE,)),
    Case("broadcast", lambda t, r: t.dist.broadcast(t.one, 0), (BROADCAST,)),
    Case("reduce", lambda t, r: t.dist.reduce(t.one, 1), (Shown("hcom_reduce", ONE, ONE),)),
    Case("all_gather", lambda t, r: t.dist.all_gather(t.pair(), t.one), (GATHER,)),
    Case("all_gather_into_tensor", lambda t, r: t.dist.all_gather_into_tensor(t.whole, t.one), (GATHER,)),
    Case("gather", lambda t, r: t.dist.gather(t.one, None if r else t.pair(), 0), (GATHER,)),
    Case("scatter", lambda t, r: t.dist.scatter(t.one, None if r else t.pair(), 0), (Shown("hcom_scatter", TWO, ONE),)),
    Case("reduce_scatter", lambda t, r: t.dist.reduce_scatter(t.one, t.pair()), (SCATTER,)),
    Case(
        "reduce_scatter_tensor",
        lambda t, r: t.dist.reduce_scatter_tensor(t.half, t.one),
        (Shown("hcom_reduceScatter", ONE, ONE // 2),),
    ),
    Case("all_to_all", lambda t, r: t.dist.all_to_all(t.pair(), t.pair()), (Shown("hcom_alltoallv", TWO, TWO),)),
    Case(
        "all_to_all_single",
        lambda t, r: t.dist.all_to_all_single(t.one.clone(), t.one),
        (Shown("hcom_alltoall", ONE, ONE // 2),),
    ),
    Case(
        "all_to_all_single with sizes",
        lambda t, r: t.dist.all_to_all_single(t.one.clone(), t.one, [ROWS // 2] * 2, [ROWS // 2] * 2),
        (Shown("hcom_alltoallv", ONE, ONE),),
    ),
    Case("barrier", lambda t, r: t.dist.barrier(), (Shown("hcom_allReduce", 1, 1, "FP32"),)),
    Case("send, recv", lambda t, r: t.dist.recv(t.one, 0) if r else t.dist.send(t.one, 1), (SEND,), (RECEIVE,)),
    Case("recv from any", lambda t, r: t.dist.recv(t.one) if r else t.dist.send(t.one, 1), (SEND,), (RECEIVE,)),
    Case("batch_isend_irecv", _exchange, (Shown("hcom_batchSendRecv", ONE + TWO, ONE + TWO),)),
    Case(
        "all_reduce_coalesced",
        lambda t, r: t.dist.all_reduce_coalesced([t.one, t.half]),
        (Shown("hcom_allReduce", ONE + ONE // 2, ONE + ONE // 2),),
    ),
    Case(
        "all_gather_object",
        lambda t, r: t.dist.all_gather_object([None, None], "x" * 75),  # pickled: 90 bytes
        (Shown("hcom_allGather", 2, 1, "INT64"), Shown("hcom_allGather", 180, 90, "UINT8")),
    ),
    Case("functional all_reduce", lambda t, r: t.functional.all_reduce(t.one, "sum", t.group).sum(), (REDUCE,)),
    Case("functional broadcast", lambda t, r: t.functional.broadcast(t.one, 0, t.group).sum(), (BROADCAST,)),
    Case(
        "functional all_gather_tensor",
        lambda t, r: t.functional.all_gather_tensor(t.one, 0, t.group).sum(),
        (GATHER,),
    ),
    Case(
        "functional all_to_all_single",
        lambda t, r: t.functional.all_to_all_single(t.one, None, None, t.group).sum(),
        (Shown("hcom_alltoallv", ONE, ONE),),
    ),
    Case(
        "functional reduce_scatter_tensor_coalesced",
        lambda t, r: [
            x.sum() for x in t.functional.reduce_scatter_tensor_coalesced([t.one, t.half], "sum", [0, 0], t.group)
        ],
        (Shown("hcom_reduceScatter", ONE + ONE // 2, (ONE + ONE // 2) // 2),),
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
