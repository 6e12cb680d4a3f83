"""Shapes of the operators of a capture beside PyTorch's profiler, where that does not record them itself.

The observer is C++ that is built against PyTorch (native/observer.cpp): by the install where that finds a PyTorch (setup.py),
else by `tb-npu build-observer` for this user (observer_build.py). Where there is none that fits the PyTorch that is there,
shapes are taken from a step before the capture (recorder.py).
"""

from __future__ import annotations

import hashlib
import importlib
import platform
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Raw

from tb_npu_plugin.capture.mock.kineto import LIST, Signature, signature_of
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.user_cache import cache_root, open_to_others

SOURCE = Path(__file__).parent / "native" / "observer.cpp"
_NAME = "tb_npu_plugin.capture.mock._observer"


def is_there() -> bool:
    """Shapes can be observed here."""
    return _native() is not None


def start() -> None:
    """Observe from now, all threads of this process; what was observed before is dropped. RuntimeError: PyTorch's."""
    native = _native()
    assert native is not None
    native.start()


def stop() -> bytes:
    """Observe no longer. What there was, for read(). RuntimeError, MemoryError: it is lost."""
    native = _native()
    assert native is not None
    found: bytes = native.stop()
    return found


@cache
def _native() -> ModuleType | None:
    try:
        import torch  # brings the libraries that the observer needs

        return installed(torch) or built(torch)
    except (ImportError, OSError, RuntimeError):  # neither, or nothing that loads
        return None


def installed(torch: Any) -> ModuleType | None:
    """What came with the install, if it was built against this release."""
    try:  # by name: it has no stub, since each stub is of a module that every wheel has
        native = importlib.import_module(_NAME)
    except ImportError:
        return None
    return native if torch.__version__.partition("+")[0] == native.TORCH_VERSION else None


def built(torch: Any) -> ModuleType | None:
    """What this user has built for this PyTorch. ImportError: it does not load here. OSError; RuntimeError: no home."""
    path = path_of(torch)
    if not path.is_file() or open_to_others(path) is not None:
        return None
    return load(path)


def path_of(torch: Any) -> Path:
    """Where the one for this very build of PyTorch and this version of its source is or would be, without symbolic links.

    Any Python can load it (the stable ABI). OSError: there is no source; RuntimeError: a user without a home.
    """
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    parts = (torch.version.git_version, torch.compiled_with_cxx11_abi(), library.stat().st_size)
    digest = hashlib.blake2b(f"{parts}".encode() + SOURCE.read_bytes(), digest_size=8).hexdigest()
    name = f"torch-{torch.__version__}-{platform.machine()}-{digest}.so"
    return (cache_root() / "observer").resolve() / name


def load(path: Path) -> ModuleType:
    """The module in this file. ImportError."""
    loader = ExtensionFileLoader(_NAME, str(path))
    spec = spec_from_loader(_NAME, loader)
    assert spec is not None
    native = module_from_spec(spec)
    loader.exec_module(native)
    return native


#: Thread, the texts of its different calls, and which of them it ran, in order of their start.
_THREADS = msgspec.json.Decoder(list[tuple[int, list[Raw], list[int]]])
_TENSORS = "tensors"


def read(path: Path) -> dict[int, list[Signature]]:
    """thread -> its operators, in order of their start. Types of tensors in lists are their own. BadFile."""
    known: dict[bytes, Signature] = {}
    out: dict[int, list[Signature]] = {}
    try:
        for tid, texts, order in _THREADS.decode(path.read_bytes()):
            calls = [known.get(bytes(text)) or known.setdefault(bytes(text), _signature(text)) for text in texts]
            out[tid] = [calls[number] for number in order]
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as problem:
        raise BadFile(f"{path} cannot be used: {problem}", "Record it again.") from problem
    return out


def _signature(text: Raw) -> Signature:
    name, *arguments = msgspec.json.decode(text)
    return signature_of(name, *zip(*map(_argument, arguments))) if arguments else Signature(name)


def _argument(found: Any) -> tuple[Any, str, str, str]:
    """Shape, type and text as PyTorch's profiler tells them, and the type of the tensors in a list."""
    if isinstance(found, dict):
        tensors = [tensor or [""] for tensor in found[_TENSORS]]
        return [tensor[1:] for tensor in tensors], LIST, "", tensors[0][0] if tensors else ""
    if isinstance(found, list) and found and isinstance(found[0], str):
        return found[1:], found[0], "", ""
    if found is None:
        return [], "", "", ""
    return [], "ScalarList" if isinstance(found, list) else "Scalar", str(found), ""
