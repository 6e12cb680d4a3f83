import os

from training import train_one_step

from tb_npu_plugin.capture.pytorch import torch_npu

os.environ["ASCEND_WORK_PATH"] = os.path.abspath("work")
with torch_npu.profiler.profile():
    train_one_step()
os.rename("work/profiling_data", "result_data")
