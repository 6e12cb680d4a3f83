"""The tb-npu command line: a module per command or group of commands."""

from tb_npu_plugin.cli.entry import main as main
