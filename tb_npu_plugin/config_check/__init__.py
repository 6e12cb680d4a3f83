"""Says what a profiler configuration records before the training runs: `tb-npu check-config`."""
