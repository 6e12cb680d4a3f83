"""What the device does for what its log holds: the kernels of an operator, and the communication of torch.distributed, all of this
rank, and how much later the other ranks arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

from tb_npu_plugin import __version__
from tb_npu_plugin.capture.backend import Settings
from tb_npu_plugin.capture.device.records import Kind, Recording, Signature, TensorInfo, tensors_in
from tb_npu_plugin.capture.recording.recorded_host import RecordedHost
from tb_npu_plugin.capture.simulation.collectives import LOGGED, Exchange, Transfer, planes, schedule
from tb_npu_plugin.capture.simulation.kernels import KernelFactory, plain_format
from tb_npu_plugin.capture.simulation.launch import EACH, SAME, Launch, has_rule
from tb_npu_plugin.capture.simulation.planes import BATCH_PLANES, RECEIVED, Planes
from tb_npu_plugin.capture.simulation.records import BATCH, P2P_TYPES, RECEIVE, SEND, Group
from tb_npu_plugin.capture.simulation.topology import Topology
from tb_npu_plugin.capture.simulation.work import TYPES, Tensor, Tensors
from tb_npu_plugin.schema.chips import Chip
from tb_npu_plugin.schema.communicators import group_hash

_COPY, _CAST, _MOVE = "aten::copy_", "aten::_to_copy", "aten::clone"


def launches_of(signature: Signature, kernels: KernelFactory) -> tuple[Launch, ...]:
    """What an operator launches."""

    def made(name: str, inputs: Tensors, outputs: Tensors) -> tuple[Launch, ...]:
        shapes, types = tuple(tensor.shape for tensor in inputs), tuple(tensor.type for tensor in inputs)
        return kernels.launches(name, shapes, types, outputs)

    name, first = operator_of(signature.name), signature.arguments[:1]
    inputs, outputs = _tensors(signature.inputs), _tensors(signature.outputs)
    if name.startswith(EACH) and not outputs:  # in place
        outputs = _tensors(tensors_in(first))
    if name == "npu::npu_apply_adam_w" and isinstance(first[0], tuple):
        # lists of parameters, gradients and both moments
        lists = [_tensors(tensors_in((one,))) for one in signature.arguments[:4]]
        return tuple(launch for each in zip(*lists) for launch in made(name, each, ()))
    if not any(prod(tensor.shape) for tensor in (*inputs, *outputs)):
        return ()  # empty tensors
    if name == _COPY:
        name, inputs = (_MOVE if inputs[0].type == inputs[-1].type else _CAST), inputs[-1:]
    if name in ("npu::npu_fusion_attention", "npu::npu_fusion_attention_grad"):
        inputs = _heads(signature, inputs[1:4] if name.endswith("grad") else inputs[:3])
    return made(name, inputs, outputs)


def operator_of(name: str) -> str:
    """The operator of a name with overload, as the rules have it. Of a list of tensors CANN has a kernel by overload."""
    if name in SAME:
        return SAME[name]
    name, _, overload = name.partition(".")
    if name.startswith(EACH):
        words = {"ScalarList": "scalar_list", "out": ""}.get(overload, overload.lower())
        return f"{name.rstrip('_')}_{words}".rstrip("_")
    return SAME.get(name, name)


def describe(log: Recording) -> dict[str, Any]:
    """The entry of profiler_metadata.json on the simulation. An operator without a rule is one kernel with the operator's name."""
    numbers = {int(number) for number in log.of(Kind.OPERATOR)["signature"]}
    names = {operator_of(log.signatures[number].name) for number in numbers}
    unknown = sorted(name for name in names if not has_rule(name))
    return {"by": f"tb-npu-plugin {__version__}", "operators_without_rule": unknown, "lost_records": log.lost}


def _tensors(tensors: tuple[TensorInfo, ...]) -> Tensors:
    """A number of Python counts as a scalar of the type of the tensors beside it."""
    real = next((one.dtype for one in tensors if not one.is_number), "float")
    return tuple(Tensor(one.shape, real if one.is_number else one.dtype, plain_format(one.shape)) for one in tensors)


def _heads(signature: Signature, inputs: Tensors) -> Tensors:
    """Query, key and value as batch, heads (N), sequence and width of a head (D)."""
    layout = next((value for value in signature.arguments if value in ("BSH", "SBH", "BSND", "TND", "BNSD")), "BNSD")
    heads = next((value for value in signature.arguments if isinstance(value, int) and not isinstance(value, bool)), 1)
    out = []
    for tensor in inputs:
        sizes = {"B": 1, **dict(zip(layout.replace("T", "S"), tensor.shape))}
        if "H" in sizes:
            sizes |= {"N": heads, "D": sizes["H"] // heads}
        out.append(tensor._replace(shape=tuple(sizes[axis] for axis in "BNSD")))
    return tuple(out)


#: Types of elements of CANN -> as HCCL names them, where it differs; torch_npu reduces booleans as bytes.
DATA_TYPES = {"FLOAT16": "FP16", "DT_BF16": "BFP16", "FLOAT": "FP32", "DOUBLE": "FP64", "BOOL": "UINT8"}
#: group_name of the communicators of two ranks.
_BETWEEN_TWO = "p2p"
#: One send (True) or receive of a batch, its peer, counted in the group, and its bytes.
_Item = tuple[bool, int, int]
#: Largest difference in ns between the arrivals of ranks, where they were not recorded.
_SKEW = 120_000


class Exchanges:
    """The groups of this rank, by name, and its collectives, of any framework."""

    def __init__(self, chip: Chip) -> None:
        self._topology = Topology(chip)
        self.groups: dict[str, Group] = {}
        self._counts: Counter[tuple[int, str]] = Counter()

    def _add(self, name: str, role: str, ranks: tuple[int, ...], rank: int) -> None:
        self.groups[name] = Group(len(self.groups), group_hash(name), ranks, rank, 0, name, role)

    def _reserve(self, group: Group, type_: str) -> None:
        """Give the group as many planes as collectives of this type take."""
        count = BATCH_PLANES if type_ == BATCH else planes(type_, group.ranks, self._topology)
        self.groups[group.name] = replace(group, planes=max(group.planes, count))

    def _communicate(
        self, host: RecordedHost, transfer: Transfer, later: dict[int, int], items: Sequence[_Item] = ()
    ) -> int:
        """Launch a collective; when it is done on this rank. later: as in `arrivals_of`; items: of a batch."""
        group = self.groups[transfer.group]
        host.communicate(transfer)
        exchange, count = self._exchange(transfer, group)
        member = exchange.members.index(group.ranks[group.rank])
        arrivals = arrivals_of(exchange, member, host.arrival, later)
        if items:
            end, tasks = _batch(items, exchange, arrivals, self._topology, member)
        else:
            ends, tasks = schedule(exchange, arrivals, self._topology, member)
            end = ends[member]
        host.communicated(count, transfer, exchange, end, tasks)
        return end

    def _exchange(self, transfer: Transfer, group: Group) -> tuple[Exchange, int]:
        """The operator as all members see it, and how many like it came before: equal on all of them. Of two ranks the
        sender comes first."""
        key = (group.index, transfer.type if transfer.type in P2P_TYPES else "")
        number = self._counts[key]
        self._counts[key] += 1
        members, type_, seed = group.ranks, transfer.type, f"{group.id}/{number}"
        if transfer.type in (SEND, RECEIVE):
            first = group.rank if transfer.type == SEND else 1 - group.rank
            members, type_, seed = (members[first], members[1 - first]), SEND, f"{group.id}/{first}/{number}"
        return Exchange(type_, transfer.size, members, seed), number


class TorchExchanges(Exchanges):
    """Those of torch.distributed."""

    def __init__(self, settings: Settings, chip: Chip, log: Recording) -> None:
        super().__init__(chip)
        self._by_id: dict[str, str] = {}  # group of the log -> communicator
        self._later: dict[int, dict[int, int]] = {}  # collective -> peer -> ns by which it came later
        arrivals = log.of(Kind.ARRIVAL)
        for number, peer, by in zip(*(arrivals[name].tolist() for name in ("id", "sequence", "bytes"))):
            self._later.setdefault(number, {})[peer] = by
        for name, group in settings.groups.items():
            if group["group_name"] != _BETWEEN_TWO:
                self._by_id[name.rpartition("_")[2]] = name
            self._add(name, str(group["group_name"]), tuple(group["global_ranks"]), int(group["group_rank"]))
        self._default = next((g.name for g in self.groups.values() if len(g.ranks) == settings.world), "")
        for number in {int(row) for row in log.of(Kind.COLLECTIVE)["signature"] if row >= 0}:
            if (found := self._of(log.signatures[number])) is not None:
                self._reserve(found[1], found[0])

    def pairs(self) -> dict[str, dict[str, Any]]:
        """Communicators of two ranks of a larger group, for the metadata of a result."""
        return {name: group.info for name, group in self.groups.items() if group.group_name == _BETWEEN_TWO}

    def _of(self, signature: Signature) -> tuple[str, Group] | None:
        """Type and group of a collective; None if the group has no other rank."""
        type_ = LOGGED.get(signature.name)
        identity, peer = str(signature.arguments[1]), signature.arguments[2]
        name = self._by_id.get(identity, self._default)
        group = self.groups.get(name)
        if type_ is None or group is None or len(group.ranks) < 2:
            return None
        if type_ in (SEND, RECEIVE) and len(group.ranks) > 2:
            if not isinstance(peer, int) or not 0 <= peer < len(group.ranks):
                return None
            pair = tuple(sorted((group.ranks[group.rank], group.ranks[peer])))
            two = f"{name}_{pair[0]}_{pair[1]}"
            if two not in self.groups:
                self._add(two, _BETWEEN_TWO, pair, pair.index(group.ranks[group.rank]))
            group = self.groups[two]
        return type_, group

    def run(self, host: RecordedHost, signature: Signature, number: int) -> None:
        """Launch the collective of this number, and work out when it is done."""
        found = self._of(signature)
        if found is None:
            return
        type_, group = found
        transfer, items = _transfer(signature, type_, group)
        later = {group.ranks[peer]: by for peer, by in self._later.get(number, {}).items() if peer < len(group.ranks)}
        host.done["collective", number] = self._communicate(host, transfer, later, items)


def _transfer(signature: Signature, type_: str, group: Group) -> tuple[Transfer, list[_Item]]:
    """What a collective moves, and the items of a batch."""
    tensors, inputs = (*signature.inputs, *signature.outputs), len(signature.inputs)
    element = tensors[0].dtype if tensors and signature.name != "hccl::barrier" else "float"
    data_type, item = TYPES.get(element, ("FLOAT", 4))
    sizes = [item * prod(tensor.shape) for tensor in tensors]
    sent, received = sum(sizes[:inputs]), sum(sizes[inputs:])
    size = {
        "hccl::gather": sent * len(group.ranks),  # only the root has the whole
        "hccl::scatter": received * len(group.ranks),
        "hccl::batch_isend_irecv": sent + received,
    }.get(signature.name, max(sent, received))
    peers: Any = signature.arguments[2]  # of a batch: of what it sends, then of what it receives
    is_batch = type_ == BATCH
    items = [(at < inputs, peer, moved) for at, (peer, moved) in enumerate(zip(peers, sizes))] if is_batch else []
    return Transfer(group.name, type_, max(item, size), item, DATA_TYPES.get(data_type, data_type)), items


def arrivals_of(exchange: Exchange, member: int, own: int, later: dict[int, int]) -> tuple[int, ...]:
    """When each member arrives, this one at `own`. later: ns by other rank, where known; else they differ a little."""
    random = Random(exchange.seed)
    skews = [random.randrange(_SKEW) for _ in exchange.members]
    return tuple(own + later.get(rank, skew - skews[member]) for rank, skew in zip(exchange.members, skews))


def _batch(
    items: Sequence[_Item], exchange: Exchange, arrivals: tuple[int, ...], topology: Topology, member: int
) -> tuple[int, Planes]:
    """When an operator of sends and receives is done on this member, and its tasks: sends on one plane, receives on the other, one
    after the other."""
    now = [arrivals[member]] * BATCH_PLANES
    tasks: list[Planes] = []
    for number, (sends, peer, size) in enumerate(items):
        plane = 0 if sends else RECEIVED
        two = (member, peer) if sends else (peer, member)
        own = two.index(member)
        times = tuple(now[plane] if one == member else arrivals[one] for one in two)
        members = tuple(exchange.members[one] for one in two)
        ends, found = schedule(Exchange(SEND, size, members, f"{exchange.seed}/{number}"), times, topology, own)
        tasks.append(found.renamed(two, plane))
        now[plane] = ends[own]
    return max(now), Planes.joined(tasks)
