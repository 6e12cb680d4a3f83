"""torch.npu: devices, streams, memory and random numbers of the simulated device, under torch_npu's names."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import Any, Callable, Union

import torch

from tb_npu_plugin.capture.api.mstx import mstx as mstx
from tb_npu_plugin.capture.device import raise_for
from tb_npu_plugin.capture.device.build import extension
from tb_npu_plugin.capture.simulation.chips import chosen_chip

__getattr__ = raise_for("torch.npu")
_native = extension()
_chip = chosen_chip()
DeviceLike = Union["torch.device", str, int, None]
#: torch.npu.random, ...: torch_npu's submodules have the same functions.
random = memory = streams = utils = sys.modules[__name__]


def _index(device: DeviceLike = None) -> int:
    """Number of a device; None, "npu", -1: the current one. Raises ValueError for devices of another type."""
    number: Any = device
    if not isinstance(device, (int, type(None))):
        found = torch.device(device)
        if found.type != "npu":
            raise ValueError(f"Expected an npu device, but got: {device}")
        number = found.index
    return int(current_device() if number is None or number < 0 else number)


def _of_device(function: Callable[[int], Any]) -> Callable[..., Any]:
    """The function, called with a device in any form."""
    return lambda device=None: function(_index(device))


def _always(value: Any) -> Callable[..., Any]:
    """A function that returns the value for any arguments."""
    return lambda *arguments, **options: value


init = _lazy_init = _always(None)
is_initialized = is_available = _always(True)
_initialized = True  # torch.utils.checkpoint keeps the state of the generators only then
_is_in_bad_fork = _always(False)  # host memory works in forked processes
#: Of all devices (TB_NPU_DEVICES); the calling thread's.
device_count, current_device = _native.device_count, _native.current_device
#: The device is always done.
synchronize = _of_device(_native.synchronize)


def set_device(device: DeviceLike) -> None:
    """Make it the calling thread's device. Raises RuntimeError if there is no such device."""
    _native.set_device(_index(device))


def can_device_access_peer(device: DeviceLike, peer: DeviceLike) -> bool:
    """Whether one device reads the memory of another: of each but itself."""
    return _index(device) != _index(peer)


#: The chip's (TB_NPU_CHIP), as "Ascend910B2".
get_device_name = _of_device(lambda index: _chip.soc)


def get_device_properties(device: DeviceLike = None) -> SimpleNamespace:
    """name, total_memory (bytes), cube_core_num, vector_core_num, L2_cache_size (bytes), major, minor."""
    _index(device)
    memory = {"total_memory": _chip.memory, "L2_cache_size": _chip.cache}
    cores = {"cube_core_num": _chip.cube_cores, "vector_core_num": _chip.vector_cores}
    return SimpleNamespace(name=_chip.soc, **memory, **cores, multi_processor_count=_chip.cube_cores, major=0, minor=0)


get_device_capability = _always(None)  # chips of Ascend have no such number
utilization = _always(0)  # percent: nothing runs on the simulated device while the host asks
#: CANN's number of the chip's generation.
get_soc_version = _always({"910A": 100, "910_93": 250, "310P": 200}.get(_chip.name, 220))  # 220: 910B


class device:
    """Context: another device for the calling thread; None or -1: no change."""

    def __init__(self, device: DeviceLike) -> None:
        self.idx = _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """Context: the device of a tensor, if it is on one."""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.device if tensor.device.type == "npu" else -1)


class Stream(torch.Stream):  # type: ignore[misc]
    """A stream of the simulated device."""

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **existing: Any) -> Stream:
        """A new stream; stream_id, device_index and device_type name an existing one."""
        new = {"device": torch.device("npu", _index(device))}
        named = {"device_type": _DEVICE_TYPE, **existing} if existing else new
        return super().__new__(cls, priority=priority, **named)  # type: ignore[no-any-return]

    @property
    def npu_stream(self) -> int:
        """What CANN would call a handle: the stream's number."""
        return int(self.stream_id)


#: c10::DeviceType::PrivateUse1.
_DEVICE_TYPE = 20


class _EventType(type):
    """torch.Event.elapsed_time takes no subclasses, so that Event() makes plain ones."""

    def __call__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Any:
        if interprocess:
            raise NotImplementedError("The simulated NPU has no events between processes.")
        return torch.Event(device="npu", enable_timing=enable_timing, blocking=blocking)

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, torch.Event)


class Event(metaclass=_EventType):
    """An event of the simulated device."""


def _stream(index: int, number: int) -> Stream:
    return Stream(stream_id=number, device_index=index, device_type=_DEVICE_TYPE)


#: The calling thread's stream on the device, and the device's first one.
current_stream = _of_device(lambda index: _stream(index, _native.current_stream(index)))
default_stream = _of_device(lambda index: _stream(index, 0))


def set_stream(stream: Any) -> None:
    """Make it the calling thread's stream, on its device."""
    if stream is not None:
        _native.set_device(stream.device_index)
        _native.set_stream(stream.device_index, stream.stream_id)


class StreamContext:
    """Context: another stream for the calling thread, on its device; None: no change."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._before: Any = None
        self._on_its_device: Any = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = current_stream()
            self._on_its_device = current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            set_stream(self._on_its_device)
            set_stream(self._before)


stream = StreamContext
is_current_stream_capturing = _always(False)  # there are no graphs

# ---- memory, in bytes

_memory = _of_device(_native.memory_counters)


def _counter(name: str) -> Callable[..., int]:
    """A function that returns this counter of a device."""
    return lambda device=None: int(_memory(device)[name])


memory_allocated, max_memory_allocated = _counter("allocated"), _counter("allocated_peak")
#: What the allocator holds: the most that was allocated since empty_cache(), in multiples of 2 MiB.
memory_reserved = memory_cached = _counter("reserved")
max_memory_reserved = max_memory_cached = _counter("reserved_peak")
#: Peaks begin again from now.
reset_peak_memory_stats = _of_device(_native.reset_peaks)
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
reset_accumulated_memory_stats = _always(None)  # totals go on
#: Reserved memory shrinks to what is allocated.
empty_cache = _native.empty_cache

#: Free bytes and all bytes.
mem_get_info = _of_device(lambda index: (_chip.memory - memory_reserved(index), _chip.memory))


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Allocations beyond this share of the memory raise torch.OutOfMemoryError."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _native.set_memory_limit(_index(device), int(_chip.memory * fraction))


#: The share that set_per_process_memory_fraction has set.
get_per_process_memory_fraction = _of_device(lambda index: _memory(index)["limit"] / _chip.memory)


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """Counters by torch_npu's names; those of pools and of retries are left out or 0."""
    found = _memory(device)
    out = {"num_alloc_retries": 0, "num_ooms": 0}
    for kind, key in (("allocated", "allocated"), ("active", "allocated"), ("reserved", "reserved")):
        out |= {f"{kind}_bytes.all.current": found[key], f"{kind}_bytes.all.peak": found[f"{key}_peak"]}
    made, freed = found["allocations"], found["frees"]
    counts = {"current": made - freed, "allocated": made, "freed": freed}
    return {**out, **{f"{kind}.all.{name}": n for kind in ("allocation", "active") for name, n in counts.items()}}


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    """memory_stats() with a dict for each part of a name."""
    out: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *parts, last = name.split(".")
        place = out
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return out


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """memory_stats() as text."""
    return "\n".join(f"{name:32} {value:>16}" for name, value in memory_stats(device).items())


get_allocator_backend = _always("native")

# ---- types of tensors, as old scripts name them


class TensorType(type):
    """Type of torch.npu.FloatTensor and the like."""

    host: Any

    def __call__(cls, *content: Any) -> Any:
        """A tensor on the device; content: sizes, or numbers."""
        return cls.host(*content).npu()

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, torch.Tensor) and other.type() == f"torch.npu.{cls.__name__}"


for _name in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"):
    _name += "Tensor"
    globals()[_name] = TensorType(_name, (), {"host": getattr(torch, _name)})


default_generators = tuple(_native.default_generator(number) for number in range(_native.device_count()))


def manual_seed(seed: int) -> None:
    """Seed the current device."""
    default_generators[current_device()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed all devices."""
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the current device by chance."""
    default_generators[current_device()].seed()


def seed_all() -> None:
    """Seed all devices alike by chance."""
    seed()
    manual_seed_all(initial_seed())


def initial_seed() -> int:
    """Seed of the current device."""
    return int(default_generators[current_device()].initial_seed())


#: State of the device's generator, a CPU tensor of bytes.
get_rng_state = _of_device(lambda index: default_generators[index].get_state())


def set_rng_state(new_state: Any, device: DeviceLike = "npu") -> None:
    """The reverse of get_rng_state."""
    default_generators[_index(device)].set_state(new_state.cpu())


def get_rng_state_all() -> list[Any]:
    """Of each device."""
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(new_states: list[Any]) -> None:
    """The reverse of get_rng_state_all."""
    for number, state in enumerate(new_states):
        set_rng_state(state, number)


get_amp_supported_dtype = _always([torch.float16, torch.bfloat16, torch.float32])
is_bf16_supported = _always(_chip.split)  # on all simulated chips but 910A and 310P
is_autocast_enabled = partial(torch.is_autocast_enabled, "npu")
set_autocast_enabled = partial(torch.set_autocast_enabled, "npu")
get_autocast_dtype = partial(torch.get_autocast_dtype, "npu")
set_autocast_dtype = partial(torch.set_autocast_dtype, "npu")

# ---- switches of the vendor's compiler and queue, which change nothing here

set_compile_mode = set_option = set_aoe = set_mm_bmm_format_nd = set_sync_debug_mode = set_op_timeout_ms = _always(None)
set_deterministic_level = use_compatible_impl = set_stream_limit = set_device_limit = ipc_collect = _always(None)
enable_deterministic_with_backward = disable_deterministic_with_backward = clear_npu_overflow_flag = _always(None)
is_jit_compile_false, get_npu_overflow_flag, get_sync_debug_mode = _always(True), _always(False), _always(0)
config = SimpleNamespace(allow_internal_format=False)
matmul = SimpleNamespace(allow_hf32=False)
conv = SimpleNamespace(allow_hf32=True)
