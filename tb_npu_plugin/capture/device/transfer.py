"""torch_npu.contrib.transfer_to_npu: scripts that say "cuda" and "nccl" use the NPU and hccl."""

from __future__ import annotations

import copyreg
import functools
import importlib
import re
import sys
from typing import Any, Callable

import torch
from torch.utils._device import _device_constructors

from tb_npu_plugin.capture.device import npu
from tb_npu_plugin.capture.device.build import MODULE

#: Functions that take a device: those that torch.set_default_device() changes, and others.
_FACTORIES = (
    *(function.__name__ for function in _device_constructors()),
    *("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"),
    *("frombuffer", "normal", "load", "set_default_device", "get_device_module"),
    *("get_autocast_dtype", "set_autocast_dtype", "is_autocast_enabled", "set_autocast_enabled"),
)
_MADE = ("empty", "empty_strided", "full", "ones", "tensor", "zeros")
_METHODS = ("to", "pin_memory", "type", *(f"new_{kind}" for kind in _MADE))


@functools.cache
def transfer() -> None:
    """Patch PyTorch; further calls change nothing."""
    _patch_cuda()
    _patch_classes()
    _wrap(torch, *_FACTORIES)
    _wrap(torch.Tensor, *_METHODS)
    _wrap(torch.nn.Module, "to", "to_empty")
    torch.Tensor.cuda, torch.nn.Module.cuda = torch.Tensor.npu, torch.nn.Module.npu
    torch.Tensor.is_cuda = torch.Tensor.is_npu
    torch.UntypedStorage.cuda, torch.TypedStorage.cuda = torch.UntypedStorage.npu, torch.TypedStorage.npu
    torch.set_default_tensor_type = _set_default_tensor_type
    _patch_amp()
    _patch_profiler()
    torch.jit.script = _with_originals(torch.jit.script)
    if torch.distributed.is_available():
        _patch_distributed()


def _swap(value: Any) -> Any:
    """The same with "npu" for "cuda": in a string, a device, or the keys and values of a dict. Of a type of tensors its name."""
    if isinstance(value, str):
        return re.sub(r"^(torch\.)?cuda(?=$|:|\.\w+Tensor$)", r"\1npu", value)  # not in the name of a file
    if isinstance(value, npu.TensorType):
        return f"torch.npu.{value.__name__}"
    if isinstance(value, _device):
        return _device("npu" if value.index is None else f"npu:{value.index}") if value.type == "cuda" else value
    return {_swap(key): _swap(item) for key, item in value.items()} if isinstance(value, dict) else value


def _wrap(owner: Any, *names: str, swap: Callable[[Any], Any] = _swap) -> None:
    for name in names:
        if hasattr(owner, name):  # not in each release of PyTorch
            setattr(owner, name, _with_swapped(getattr(owner, name), swap))


def _with_swapped(function: Callable[..., Any], swap: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        return function(*map(swap, arguments), **{name: swap(value) for name, value in options.items()})

    return call


def _with_originals(script: Callable[..., Any]) -> Callable[..., Any]:
    """torch.jit.script; it compiles PyTorch's own functions but no wrapped ones."""

    @functools.wraps(script)
    def call(*arguments: Any, **options: Any) -> Any:
        wrapped = {name: getattr(torch, name) for name in _FACTORIES if hasattr(torch, name)}
        try:
            for name, function in wrapped.items():  # without __wrapped__: one script calls another
                setattr(torch, name, getattr(function, "__wrapped__", function))
            return script(*arguments, **options, _frames_up=options.pop("_frames_up", 0) + 1)
        finally:
            for name, function in wrapped.items():
                setattr(torch, name, function)

    return call


def _set_default_tensor_type(kind: Any) -> None:
    """torch.set_default_tensor_type(), which PyTorch has for types of the CPU and of CUDA only."""
    name = _swap(kind) if isinstance(kind, (str, npu.TensorType)) else kind.__name__
    torch.set_default_dtype(getattr(torch, name.rpartition(".")[2]).dtype)
    torch.set_default_device("npu" if name.startswith("torch.npu.") else "cpu")


def _patch_cuda() -> None:
    if not hasattr(torch, "accelerator"):  # before 2.6 it refuses classes that are none of CUDA's
        importlib.import_module("torch._dynamo.device_interface")
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.streams):
        for name, value in vars(npu).items():
            is_own = getattr(value, "__module__", "") in (npu.__name__, MODULE)
            if is_own and not name.startswith("_") and hasattr(module, name):
                setattr(module, name, value)
    torch.cuda.default_generators = npu.default_generators
    torch.cuda._is_in_bad_fork, torch.cuda._lazy_init = npu._is_in_bad_fork, npu.init
    torch.cuda.mstx = npu.mstx


# ---- classes: their instances are PyTorch's own

_device, _generator = torch.device, torch.Generator


class _Made(type):
    """Type of a class that makes instances of another one, `made`."""

    made: type

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        return cls.made(*map(_swap, arguments), **{name: _swap(value) for name, value in options.items()})

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, cls.made)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.made)


def _patch_classes() -> None:
    for made in (_device, _generator):
        stand_in = _Made(made.__name__, (), {"made": made, "__module__": "torch", "__doc__": made.__doc__})
        setattr(torch, made.__name__, stand_in)
    copyreg.pickle(_device, lambda device: (torch.device, (str(device),)))


def _patch_amp() -> None:
    make = torch.amp.GradScaler.__init__
    torch.amp.GradScaler.__init__ = lambda own, device="npu", *rest, **more: make(own, _swap(device), *rest, **more)
    _wrap(torch.amp.autocast_mode.autocast, "__init__")
    _wrap(torch.amp, "custom_fwd", "custom_bwd")
    for name in ("autocast", "GradScaler", "custom_fwd", "custom_bwd"):
        setattr(torch.cuda.amp, name, getattr(sys.modules["torch_npu.npu.amp"], name))


def _patch_profiler() -> None:
    """torch.profiler makes results of the NPU."""
    own, kinds = sys.modules["torch_npu.profiler"], torch.profiler.ProfilerActivity
    meant = {kinds.CPU: own.ProfilerActivity.CPU, kinds.CUDA: own.ProfilerActivity.NPU}

    class Profile(own.profile):  # type: ignore[name-defined, misc]
        """torch.profiler.profile(), whose activities are PyTorch's."""

        def __init__(self, *, activities: Any = None, **options: Any) -> None:
            super().__init__(activities=activities and [meant.get(kind, kind) for kind in activities], **options)

    torch.profiler.profile = Profile
    for name in ("schedule", "tensorboard_trace_handler", "ProfilerAction"):
        setattr(torch.profiler, name, getattr(own, name))


def _patch_distributed() -> None:
    import torch.distributed as dist
    import torch.distributed.device_mesh as meshes

    for owner in (dist, dist.distributed_c10d):
        _wrap(owner, "init_process_group", "new_group", swap=_swap_backend)
    dist.is_nccl_available = lambda: True
    for owner in (dist, meshes):
        _wrap(owner, "init_device_mesh")


def _swap_backend(value: Any) -> Any:
    """_swap, and "hccl" for "nccl", also of several backends: "cpu:gloo,cuda:nccl"."""
    return _swap(value.replace("nccl", "hccl").replace("cuda:", "npu:") if isinstance(value, str) else value)
