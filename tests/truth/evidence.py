"""What the files of a run can prove about a fault: fault x ranks recorded x trace x text or database x level.

Written from what each file holds, before the rules were tuned; the rules are judged by it, and not the other way round. What
carries what:

| files | waiting | idle time | kernels, links |
|-|-|-|-|
| with trace (text), profiler database (db), Level1, Level2 | exact: first Notify Waits, of unprofiled ranks too | cause: calls of the host | types, shapes, counters; bytes and links |
| the same at Level0 | exact: tasks on the hardware stream; the peer is inferred | late launch or not, no cause | names and times of kernels alone |
| no trace (text), Level1, Level2 | exact for all ranks (starts in communication.json), else bounds by bytes | place and length in kernel_details.csv, no cause | as with the trace |
| no trace (text), Level0 | exact for all ranks (starts in kernel_details.csv), else nothing | place and length, no cause | names and times alone |
| analysis.db alone, Level1, Level2 | as above, from CommAnalyzerTime and its tables | sum of a step (StepTraceTime) | links; no kernels |
| analysis.db alone, Level0 | one sum of communication for each step and rank | sum of a step | nothing |

The computing time of each step and rank is in every one of these: a rank or stage that computes longer is nameable wherever
all ranks are recorded. A rank alone cannot show that it computes longer than others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What the diagnosis must say of the loss.
#: "C", culprit: the root is named: the rank, stage or link, or the cause in a run whose ranks are all alike.
#: "K", kind: the right kind of loss; the root may stay unnamed.
#: "U", unexplained: neither is provable, and the entries that are unexplained or bounded hold the loss.
#: ".": these files do not show that anything is lost; nothing wrong may be named.
#: In each cell: whoever is named is the root, or a rank without a profile that stands between it and a recorded one.
Expected = Literal["C", "K", "U", "."]
#: Ranks that are recorded. With 2 ranks "some" is one of them. "+": the root is among them, "-": it is not.
RECORDED = ("all", "some+", "some-", "one+", "one-")
LEVELS = (0, 1, 2)
FORMATS = ("text", "db")
#: Ranks of a server. Waits name peers inside one alone: a peer on another server may wait in turn inside the same operator.
SERVER = 8

#: Order of the columns: with trace (text 0 1 2, db 0 1 2), then without trace (text 0 1 2), then analysis.db alone (0 1 2).
#: Rows: RECORDED.
_COMPUTING_OF_A_RANK = """
  CCC CCC  CCC CCC
  CCC CCC  KKK KKK
  CCC CCC  UUU UUU
  ... ...  ... ...
  CCC CCC  UUU UUU
"""
#: The root idles. All starts are exact with all ranks; a rank alone shows its own idle time.
_HOST_OF_A_RANK = """
  CCC CCC  CCC UKK
  CCC CCC  KKK UKK
  CCC CCC  UUU UUU
  CCC CCC  UUU UUU
  CCC CCC  UUU UUU
"""
#: communication_matrix.json and CommAnalyzerMatrix, from Level1, hold the links of each recorded end.
_LINK = """
  KCC KCC  KCC UCC
  KCC KCC  UCC UCC
  KKK KKK  UUU UUU
  KCC KCC  UCC UCC
  KKK KKK  UUU UUU
"""
#: Bytes and transfer times of operators, from Level1.
_TRANSFER = """
  KCC KCC  KCC UCC
  KCC KCC  UCC UCC
  KCC KCC  UCC UCC
  KCC KCC  UCC UCC
  KCC KCC  UCC UCC
"""
#: The same, and kernels beside it.
_TRANSFER_BESIDE_KERNELS = """
  KCC KCC  KCC UKK
  KCC KCC  UCC UUU
  KCC KCC  UCC UUU
  KCC KCC  UCC UUU
  KCC KCC  UCC UUU
"""
#: Calls of the host, from Level1.
_HOST_OF_ALL = """
  KCC KCC  UUU UUU
  KCC KCC  UUU UUU
  KCC KCC  UUU UUU
  KCC KCC  UUU UUU
  KCC KCC  UUU UUU
"""
#: Types, shapes and counters of kernels, from Level1. Computing is no loss: without them nothing is missing.
_KERNELS = """
  .CC .CC  .CC ...
  .CC .CC  .CC ...
  .CC .CC  .CC ...
  .CC .CC  .CC ...
  .CC .CC  .CC ...
"""
#: The column Bubble is the kind. The number of micro-batches is that of the receives, by name at any level.
_BUBBLE_WRITTEN = """
  CCC CCC  CCC KCC
  CCC CCC  KCC KKK
  CCC CCC  KCC KKK
  KCC KCC  KCC KKK
  KCC KCC  KCC KKK
"""
#: Batches of sends and receives: which of them receive is known from their bytes, from Level1.
_BUBBLE_ZERO = """
  KCC KCC  KCC UKK
  UCC UCC  UKK UKK
  UCC UCC  UKK UKK
  UKK UKK  UKK UKK
  UKK UKK  UKK UKK
"""
#: The stages' computing times are in every file. A rank of the slow stage alone waits for nobody.
_STAGES_WRITTEN = """
  CCC CCC  CCC CCC
  CCC CCC  KKK KKK
  KKK KKK  KKK KKK
  ... ...  ... ...
  KKK KKK  KKK KKK
"""
_STAGES_ZERO = """
  CCC CCC  CCC CCC
  CCC CCC  UKK UKK
  KKK KKK  UKK UKK
  ... ...  ... ...
  UKK UKK  UKK UKK
"""

#: Entries of the ledger that hold a loss of this kind.
RANK_KIND = ("waiting", "communication")
HOST_KIND = ("idle", "unexplained", "waiting", "communication")
TRANSFER_KIND = ("transfer", "communication", "waiting")
PIPELINE_KIND = ("waiting", "communication")
NO_LOSS = ()
#: Rules that name a rank.
_NAMES_RANK = ("straggler", "unprofiled_rank")


@dataclass(frozen=True)
class Fault:
    """What is known of a fault.

    Attributes:
        rules: Rules that name it; the first one its cause.
        kind: Entries of the ledger that hold its loss.
        cells: Expected statement; where the column Bubble matters, for "written", and `zero` for 0.
        least_ranks: With fewer ranks nothing stands out, and "C" means "K".
        unclear: Rows in which "C" means "K" in a pipeline: each stage waits for another one that is not recorded, fault or
            not, and its links carry other traffic than those inside a stage.
    """

    rules: tuple[str, ...]
    kind: tuple[str, ...]
    cells: str
    zero: str = ""
    least_ranks: int = 2
    unclear: tuple[str, ...] = ("some-", "one-")


#: By trigger of cases.py. Faults that take no time of the step (memory, shapes) have no loss to find, and runs of GPUs, of
#: one rank or of 16 with RDMA are judged by cases.py alone.
EVIDENCE: dict[str, Fault] = {
    "slow rank": Fault(_NAMES_RANK, RANK_KIND, _COMPUTING_OF_A_RANK),
    "low clock": Fault(("frequency_drop", *_NAMES_RANK), RANK_KIND, _COMPUTING_OF_A_RANK),
    "collections": Fault(("garbage_collection", *_NAMES_RANK), HOST_KIND, _HOST_OF_A_RANK),
    "slow loader": Fault(("input_bound", *_NAMES_RANK), HOST_KIND, _HOST_OF_A_RANK),
    "one slow host": Fault(("host_bound", *_NAMES_RANK), HOST_KIND, _HOST_OF_A_RANK),
    "slow allocator": Fault(("allocator", *_NAMES_RANK), HOST_KIND, _HOST_OF_A_RANK),
    "one preempted": Fault(("core_binding", *_NAMES_RANK), HOST_KIND, _HOST_OF_A_RANK),
    # Hosts that are all slow are late in turn: the recorded ranks do wait for another one.
    "slow host": Fault(("host_bound", "unprofiled_rank"), HOST_KIND, _HOST_OF_ALL),
    "synchronization": Fault(("sync_stream",), HOST_KIND, _HOST_OF_ALL),
    "slow link": Fault(("slow_link",), TRANSFER_KIND, _LINK, least_ranks=4, unclear=RECORDED),
    "no overlap": Fault(("exposed_communication",), TRANSFER_KIND, _TRANSFER_BESIDE_KERNELS),
    "contention": Fault(("contention",), TRANSFER_KIND, _TRANSFER_BESIDE_KERNELS),
    "small buckets": Fault(("small_packets",), TRANSFER_KIND, _TRANSFER),
    "unaligned": Fault(("byte_alignment",), TRANSFER_KIND, _TRANSFER),
    "few micro batches": Fault(("bubble",), PIPELINE_KIND, _BUBBLE_WRITTEN, _BUBBLE_ZERO, unclear=()),
    "uneven stages": Fault(("stage_imbalance", "bubble", *_NAMES_RANK), PIPELINE_KIND, _STAGES_WRITTEN, _STAGES_ZERO),
    "casts": Fault(("format_conversions",), NO_LOSS, _KERNELS),
    "unfused": Fault(("fusion",), NO_LOSS, _KERNELS),
    "stalls": Fault(("under_utilised",), NO_LOSS, _KERNELS),
    "few blocks": Fault(("block_dim",), NO_LOSS, _KERNELS),
    "AI CPU": Fault(("ai_cpu",), NO_LOSS, _KERNELS),
}


def expected(
    fault: str, recorded: str, has_trace: bool, export: str, level: int, bubble: str, ranks: int, stages: int
) -> Expected:
    """The cell of the table. bubble: "written" or "zero"; ranks, stages: of the job."""
    found = EVIDENCE[fault]
    rows = (found.zero if bubble == "zero" and found.zero else found.cells).split("\n")[1:-1]
    recorded = recorded.replace("some", "one") if ranks == 2 else recorded
    block = 2 * (not has_trace) + FORMATS.index(export)
    cell = rows[RECORDED.index(recorded)].split()[block][level]
    assert cell in ("C", "K", "U", ".")
    is_unclear = ranks < found.least_ranks or (stages > 1 and recorded in found.unclear)
    is_unclear |= ranks > SERVER and recorded.endswith("-")
    return "K" if cell == "C" and is_unclear else cell
