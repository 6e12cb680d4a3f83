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
    ): ...


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

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def analyse(profiler_path, max_process_number=1, export_type=None):
    return "analysed by torch_npu"
