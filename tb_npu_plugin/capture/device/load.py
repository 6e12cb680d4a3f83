"""Makes the simulated device part of PyTorch, once a process."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from tb_npu_plugin.capture.api.settings import communicator_of
from tb_npu_plugin.capture.device.build import NotBuilt, extension, say_to_user
from tb_npu_plugin.capture.simulation.chips import chosen_chip
from tb_npu_plugin.errors import BadFile

#: The folder with the stand-in package torch_npu: on the path, `import torch_npu` finds it.
SITE = Path(__file__).parent / "site"
#: Set when the user was informed: child processes print nothing.
_INFORMED = "_TB_NPU_SIMULATION_INFORMED"
_MOST_DEVICES = 64


def _autoload(torch: Any) -> None:
    """Before 2.5 PyTorch does not load devices by their entry points; the variable is that of later versions."""
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    if version < (2, 5) and os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
        importlib.import_module("torch_npu")


_say_once = functools.cache(say_to_user)
#: For site/sitecustomize.py: module -> what is done with it once it is imported.
AUTOLOAD = {"torch": _autoload}


def import_torch_npu() -> ModuleType:
    """The stand-in, imported, with the device installed. Raises build.NotBuilt."""
    extension()  # where this fails, the process goes on without the device
    if str(SITE) not in sys.path:
        sys.path.insert(0, str(SITE))
    return importlib.import_module("torch_npu")


def install(stand_in: ModuleType, profiler: ModuleType) -> None:
    """Register the device and fill the stand-in with torch_npu's names (profiler: its submodule).

    Ends the process where the device cannot be built.
    """
    try:
        _install(stand_in, profiler)
    except (NotBuilt, BadFile) as error:  # a traceback through PyTorch's own import would hide the sentence
        raise SystemExit(f"tb-npu: the simulated NPU cannot be built: {error.message}. {error.hint}") from None


def _install(stand_in: ModuleType, profiler: ModuleType) -> None:
    import torch
    import torch.utils.checkpoint

    if torch._C._get_privateuse1_backend_name() != "privateuseone":
        raise NotBuilt("another device of PyTorch is loaded in this process", "Do not import the real torch_npu.")
    native = extension()
    chip, count = chosen_chip(), _device_count()
    torch.utils.rename_privateuse1_backend("npu")
    native.set_device_count(count)
    native.take_operators()
    for device in range(count):
        native.set_memory_limit(device, chip.memory)
    from tb_npu_plugin.capture.device import npu, torch_npu

    torch._register_device_module("npu", npu)
    sys.modules["torch.npu"] = npu
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    torch_npu.fill(stand_in, profiler)
    torch.utils.checkpoint.DefaultDeviceType.set_device_type("npu")
    # before PyTorch 2.6 memory was pinned for CUDA unless another device was named
    for name in ("pin_memory", "is_pinned") if not hasattr(torch, "accelerator") else ():
        own = getattr(torch.Tensor, name)
        call = functools.wraps(own)(lambda tensor, device=None, own=own: own(tensor, device or "npu"))
        setattr(torch.Tensor, name, call)
    _register_hccl(torch, native)
    _run_eagerly(torch)
    # the first backward starts a thread a device; one that waits for Python's lock when Python ends aborts the process
    atexit.register(time.sleep, 0.1)
    if _INFORMED not in os.environ:
        os.environ[_INFORMED] = "1"
        simulated = f"the NPU is simulated ({count} devices, {chip.soc})"
        say_to_user(f"{simulated}: the CPU computes, and device times in profiles come from a model.")


def _device_count() -> int:
    visible = os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "")
    text = os.environ.get("TB_NPU_DEVICES") or str(len(visible.split(",")) if visible else 8)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_DEVICES:
        raise NotBuilt(f"TB_NPU_DEVICES={text} is not a number from 1 to {_MOST_DEVICES}", "Change or unset it.")
    return int(text)


def _register_hccl(torch: Any, native: Any) -> None:
    if not torch.distributed.is_available():
        return
    import torch.distributed as dist

    def create(options: Any, _: Any) -> Any:
        rank, size = options.group_rank, options.group_size
        if _is_fake(options.store):  # this rank runs alone
            from torch._C._distributed_c10d import FakeProcessGroup

            inner = getattr(FakeProcessGroup, "_create_internal", FakeProcessGroup)(rank, size)
        else:
            inner = dist.ProcessGroupGloo(options.store, rank, size, options.timeout)
        return native.hccl(inner, options.group_id or "", rank, size)

    def get_hccl_comm_name(backend: Any, rank: int, init_comm: bool = True) -> str:
        groups = dist.distributed_c10d._world.pg_group_ranks
        return next(communicator_of(one) for one in groups if one._get_backend(torch.device("npu")) is backend)

    torch._C._distributed_c10d.Backend.get_hccl_comm_name = get_hccl_comm_name
    register = dist.ProcessGroup._register_backend

    def register_as_default(group: Any, device: Any, kind: Any, *backend: Any) -> None:
        register(group, device, kind, *backend)
        if device.type == "npu":  # where no backend is named PyTorch's default is gloo, which such a group lacks
            group._set_default_backend(kind)

    if hasattr(dist.ProcessGroup, "_set_default_backend"):  # PyTorch 2.4 has none
        dist.ProcessGroup._register_backend = register_as_default
    dist.Backend.register_backend("hccl", create, extended_api=True, devices=["npu"])
    dist.is_hccl_available = lambda: True


def _is_fake(store: Any) -> bool:
    """It is the FakeStore of torch.testing, by which no ranks meet; of a store in Python C++ may hand out the base class."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return type(store).__name__ in ("FakeStore", "Store")


def _run_eagerly(torch: Any) -> None:
    """torch.compile leaves models as they are: there is no compiler for the simulated device."""

    @functools.wraps(torch.compile)
    def compile_nothing(model: Any = None, **options: Any) -> Any:
        _say_once("torch.compile has no compiler for the simulated NPU: models run eagerly.")
        return model if model is not None else lambda decorated: decorated

    torch.compile = compile_nothing
