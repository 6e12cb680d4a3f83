"""python -m tb_npu_plugin: the same as tb-npu."""

from tb_npu_plugin.cli import main

main()
