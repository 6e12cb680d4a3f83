"""All finders, in the order in which they are called: FINDERS while the walk enters folders, LAST_FINDERS after it."""

from __future__ import annotations

from tb_npu_plugin.discovery.find_ascend import find_ascend
from tb_npu_plugin.discovery.find_cluster import find_cluster
from tb_npu_plugin.discovery.find_kineto import find_exported, find_kineto
from tb_npu_plugin.discovery.find_mindinsight import find_mindinsight
from tb_npu_plugin.discovery.find_msprof import find_msprof
from tb_npu_plugin.discovery.find_tables import find_tables
from tb_npu_plugin.discovery.found import Finder

FINDERS: tuple[Finder, ...] = (find_ascend, find_mindinsight, find_msprof, find_cluster, find_kineto)
#: They look into files that may be anything, and wait until all that names show has been found.
LAST_FINDERS: tuple[Finder, ...] = (find_exported, find_tables)
