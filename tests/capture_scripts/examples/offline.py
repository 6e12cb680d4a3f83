import os

from training import train_one_step

from tb_npu_plugin.capture.pytorch import torch_npu

os.environ["ASCEND_WORK_PATH"] = os.path.abspath("work")
with torch_npu.profiler.profile():
    train_one_step()
os.rename("work/profiling_data", "result_data")
max_process_number = 1

from tb_npu_plugin.capture.pytorch import analyse

# vendor
if __name__ == "__main__":
    analyse(profiler_path="./result_data", max_process_number=max_process_number)
# end
