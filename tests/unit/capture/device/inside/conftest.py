"""These tests are collected only where the device is."""

import os

from tb_npu_plugin.capture.device.load import SITE

if str(SITE) not in os.environ.get("PYTHONPATH", ""):
    collect_ignore_glob = ["test_*.py"]
