"""Which kernels compute, communicate or copy. Readers have no meanings of kernels yet: for them the accelerator core decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.kernel_meaning import COMMUNICATION, SCHEDULING
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import Column, Kind, Table, column_texts

MEANING = Column("meaning", Kind.TEXT, *column_texts("meaning"), "identity")
#: Values of `core` for copies and memory sets in GPU traces; these compute nothing.
COPIES = (kineto.MEMCPY_KIND, kineto.MEMSET_KIND)


def is_communication(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the communication rows, by accelerator core (HCCL, COMMUNICATION) and meaning. Readers know no meanings."""
    is_meant = kernels.text(MEANING.key).isin(COMMUNICATION)
    return kernels.text("core").isin(COMMUNICATION_CORES) | is_meant


def is_computing(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the rows that are neither communication, on either side, nor copies of GPU traces."""
    is_scheduling = kernels.text(MEANING.key).equals(SCHEDULING)
    return ~(is_communication(kernels) | is_copy(kernels) | is_scheduling)


def is_copy(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the copies and memory sets, which GPU traces list among the kernels."""
    return kernels.text("core").isin(COPIES)
