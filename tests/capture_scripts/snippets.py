"""Code in the vendor's guide of the Ascend PyTorch Profiler (document 001), by its lines: what is run, with what a reader has to add
or repair, and what is not a program of Python. The code itself is read from the document."""

from __future__ import annotations

from typing import NamedTuple

#: In front of every snippet: a small model and loader, and the names that the guide leaves to the reader.
PRELUDE = """
import os
import torch
import torch_npu
steps, epochs, max_process_number = 18, 3, 1
key, value = "key", "[1, 2, 3]"
model = torch.nn.Linear(8, 2).npu()
optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.MSELoss()
train_loader = [(torch.ones(4, 8).npu(), torch.zeros(4, 2).npu())] * steps
def train_one_step(step=0, *others):
    inputs, targets = train_loader[step]
    optimizer.zero_grad()
    criterion(model(inputs), targets).backward()
    optimizer.step()
trian_model_step = train_one_step
"""
#: Around lines that stand in a capture or after one.
CAPTURE = """
with torch_npu.profiler.profile(with_stack=True) as prof:
    train_one_step()
"""


class Repair(NamedTuple):
    """Text of the snippet, what stands for it, and why it does not run as it is."""

    text: str
    instead: str
    reason: str


class Snippet(NamedTuple):
    """Lines of the document that are a program, or part of one.

    before   code between the prelude and the snippet; indent: the snippet stands in its last block
    makes    files below the working directory after it, as glob patterns
    """

    first: int
    last: int
    makes: tuple[str, ...]
    before: str = ""
    indent: bool = False
    repairs: tuple[Repair, ...] = ()


RESULT = "result/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
RAW = "*_ascend_pt/FRAMEWORK/torch.json"
_DOTS = Repair("(…)", "()", "an ellipsis stands for the arguments")

SNIPPETS = {
    "schedule": Snippet(
        16,
        42,
        (RESULT, "result/*_ascend_pt/ASCEND_PROFILER_OUTPUT/operator_memory.csv", "result/*_ascend_pt/FRAMEWORK"),
        repairs=(
            Repair(f"{' ' * 23}prof.step()", f"{' ' * 24}prof.step()", "the last line is indented one space less"),
        ),
    ),
    "start_and_stop": Snippet(44, 63, (RESULT,)),
    "export_chrome_trace": Snippet(65, 73, ("chrome_trace_14.json", RAW)),
    "kineto_profile": Snippet(
        75,
        87,
        ("result_dir/trace.json",),
        repairs=(
            Repair(
                "activities, record_shape, profile_memory, with_stack, with_modules, experimental_config",
                "activities=None, record_shapes=True, profile_memory=True, with_stack=True, with_modules=True",
                "names of arguments stand for them; torch_npu takes keywords only, and record_shape is record_shapes",
            ),
        ),
    ),
    "trace_of_each_process": Snippet(196, 197, ("chrome_trace_*.json",), CAPTURE),
    "export_stacks": Snippet(
        208,
        208,
        ("resule_dir/stack.log",),
        CAPTURE,
        repairs=(Repair("export_stacks(", "prof.export_stacks(", "a method is called without its profile"),),
    ),
    "one_step": Snippet(220, 227, (RESULT,)),
    "add_metadata": Snippet(292, 293, ("*_ascend_pt/profiler_metadata.json",), repairs=(_DOTS,)),
    # without an export nothing stays of a _KinetoProfile
    "add_metadata_json": Snippet(295, 296, (), repairs=(_DOTS,)),
    "metadata_text": Snippet(315, 315, ("*_ascend_pt/profiler_metadata.json",), CAPTURE, indent=True),
    "metadata_list": Snippet(326, 326, ("*_ascend_pt/profiler_metadata.json",), CAPTURE, indent=True),
    "analyse": Snippet(
        528,
        531,
        ("result_data/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",),
        f'os.makedirs("result_data"); os.chdir("result_data")\n{CAPTURE}os.chdir("..")\n',
    ),
}
#: Lines that look like code and are none of Python, with what they are.
OTHERS = {
    (212, 214): "commands of a shell, for FlameGraph",
    (373, 373): "command of a shell",
    (376, 376): "command of a shell",
    (379, 381): "commands of a shell",
    (385, 385): "command of a shell",
    (391, 391): "command of a shell",
    (556, 556): "command of a shell: how the script is run",
}
