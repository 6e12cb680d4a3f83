"""Link traffic of a device: CSV files with one figure per capture; traces and databases have the curves.

Source: docs/facts/ascend_pt.md, Files and when they are written, Files copied from msprof; docs/facts/ascend_ms.md,
Files of the output folder; the vendor's reference of msprof's files (nic, roce, pcie, hccs), and the public source of
msprof, which fills them.

A MB is 1024 * 1024 bytes here: msprof multiplies by that to get the bytes of its databases.
"""

from __future__ import annotations

from tb_npu_plugin.schema.files import result_file

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


NIC = result_file("torch_npu.nic")
ROCE = result_file("torch_npu.roce")
PCIE = result_file("torch_npu.pcie")
HCCS = result_file("torch_npu.hccs")
LINK_FILES = (NIC, ROCE, PCIE, HCCS)
#: Logical tables that they fill.
LINK_TABLES = tuple(file.id for file in LINK_FILES)
