"""Link traffic of a device: CSV files with one figure per capture; traces and databases have the curves.

Source: docs/facts/ascend_pt.md, Files and when they are written, Files copied from msprof; docs/facts/ascend_ms.md,
Files of the output folder; the vendor's reference of msprof's files (nic, roce, pcie, hccs), and the public source of
msprof, which fills them.

A MB is 1024 * 1024 bytes here: msprof multiplies by that to get the bytes of its databases.
"""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import DEVICE_ID, Condition, ResultFile
from tb_npu_plugin.tables import Column, Kind, column_texts

SYS_IO = Condition("sys_io=True", Message("written.network_cards"))
SYS_INTERCONNECTION = Condition("sys_interconnection=True", Message("written.server_links"))
#: Bytes of one MB.
LINK_MB = 1 << 20
#: Sampling intervals, ns: 100 and 50 samples per second, as set by torch_npu (PrepareProfilerDeviceSysConfig) and
#: MindSpore.
SYS_IO_EVERY, SYS_INTERCONNECTION_EVERY = 10_000_000, 20_000_000

#: Direction over HCCS -> column of the database, and mode of hccs.csv.
HCCS_KINDS = {"tx": ("txThroughput", "Tx (MB/s)"), "rx": ("rxThroughput", "Rx (MB/s)")}
#: Direction and kind of PCIe packets -> prefix of database columns (suffixes Min, Max and Avg), and mode of pcie.csv.
#: The latency is in us there, in ns in databases.
PCIE_KINDS = {
    "tx_post": ("txPost", "Tx_p_avg(MB/s)"),
    "tx_nonpost": ("txNonpost", "Tx_np_avg(MB/s)"),
    "tx_cpl": ("txCpl", "Tx_cpl_avg(MB/s)"),
    "tx_latency": ("txNonpostLatency", "Tx_latency_avg(us)"),
    "rx_post": ("rxPost", "Rx_p_avg(MB/s)"),
    "rx_nonpost": ("rxNonpost", "Rx_np_avg(MB/s)"),
    "rx_cpl": ("rxCpl", "Rx_cpl_avg(MB/s)"),
}
#: The one that is not a bandwidth.
LATENCY = "tx_latency"

_DEVICE = replace(DEVICE_ID, written="")
_MODE = Column("mode", Kind.TEXT, *column_texts("mode"), "identity", ("Mode",), True)
_MIN = Column("min", Kind.FLOAT, *column_texts("min"), "", ("Min",))
_MAX = Column("max", Kind.FLOAT, *column_texts("max"), "", ("Max",))

NIC = ResultFile(
    id="nic",
    name="nic.csv",
    condition=SYS_IO,
    sizes=(("MB", LINK_MB),),
    columns=columns_of("nic"),
    doc="One row per port: use of the network card over the whole capture.",
)
ROCE = ResultFile(
    id="roce",
    name="roce.csv",
    condition=SYS_IO,
    sizes=NIC.sizes,
    columns=NIC.columns,
    doc="One row per port: use of RDMA over Ethernet over the whole capture.",
)
PCIE = ResultFile(
    id="pcie",
    name="pcie.csv",
    condition=SYS_INTERCONNECTION,
    columns=(_DEVICE, _MODE, _MIN, _MAX, Column("avg", Kind.FLOAT, *column_texts("links.avg"), "", ("Avg",))),
    doc="One row per direction and kind of packets over PCIe.",
)
HCCS = ResultFile(
    id="hccs",
    name="hccs.csv",
    condition=SYS_INTERCONNECTION,
    columns=(_DEVICE, _MODE, _MAX, _MIN, Column("avg", Kind.FLOAT, *column_texts("links.avg"), "", ("Average",))),
    doc="One row per direction over the links between the devices of a server; none of a single device.",
)
LINK_FILES = (NIC, ROCE, PCIE, HCCS)
#: Logical tables that they fill.
LINK_TABLES = tuple(file.id for file in LINK_FILES)
