"""Python imports this at its start where `tb-npu run` has put its folder on the path."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

from tb_npu_plugin.capture.device.load import AUTOLOAD
from tb_npu_plugin.capture.import_hooks import change_on_import
from tb_npu_plugin.capture.mindspore.activation import CHANGES

change_on_import({**CHANGES, **AUTOLOAD})

# the sitecustomize that this one hides
_paths = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _paths)
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
