max_process_number = 1

from tb_npu_plugin.capture.pytorch.profiler import analyse

# vendor
if __name__ == "__main__":
    analyse(profiler_path="./result_data", max_process_number=max_process_number)
# end
