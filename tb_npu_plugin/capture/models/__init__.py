"""Models whose training steps `tb-npu mock` simulates: programs of the host, without PyTorch."""
