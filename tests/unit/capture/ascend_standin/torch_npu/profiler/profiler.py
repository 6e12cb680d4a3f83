import os
from enum import Enum


class ProfilerActivity(Enum):
    CPU = 0
    NPU = 1


def supported_activities():
    return set(ProfilerActivity)


def tensorboard_trace_handler(dir_name=None, worker_name=None, analyse_flag=True, async_mode=False):
    return lambda prof: None


class _KinetoProfile:
    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        custom_trace_id_callback=None,
    ):
        self.calls = []

    def start(self):
        self.calls.append(("start",))

    def stop(self):
        self.calls.append(("stop",))

    def add_metadata(self, key, value):
        self.calls.append(("add_metadata", key, value))

    def add_metadata_json(self, key, value):
        self.calls.append(("add_metadata_json", key, value))

    def export_chrome_trace(self, output_path):
        self.calls.append(("export_chrome_trace", output_path))

    def export_stacks(self, output_path, metric="self_cpu_time_total"):
        self.calls.append(("export_stacks", output_path, metric))

    def export_memory_timeline(self, output_path, device=None):
        self.calls.append(("export_memory_timeline", output_path, device))

    def set_custom_trace_id_callback(self, callback):
        self.calls.append(("set_custom_trace_id_callback", callback))

    def get_trace_id(self):
        return "id of torch_npu"

    @classmethod
    def enable_profiler_in_child_thread(
        cls, record_shapes=False, profile_memory=False, with_stack=False, with_flops=False, with_modules=False
    ): ...

    @classmethod
    def disable_profiler_in_child_thread(cls): ...


class profile(_KinetoProfile):
    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        custom_trace_id_callback=None,
        use_cuda=None,
    ):
        self.settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()

    def __enter__(self):
        return self

    def __exit__(self, exe_type, exe_val, exc_tb):
        return None

    def step(self):
        self.calls.append(("step",))


DEFAULT_PROCESS_NUMBER = max(1, (os.cpu_count() or 1) // 2)


def analyse(profiler_path, max_process_number=DEFAULT_PROCESS_NUMBER, export_type=None):
    return ("analysed by torch_npu", profiler_path, max_process_number, export_type)
