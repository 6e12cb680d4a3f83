"""Document 003, windows that a file names: between "# vendor" and "# end" is its code. The first window is that of its JSON file,
the second that of its text, written while the training runs. The file does not ask for parsing: that is done at the end."""

import json
import time
from pathlib import Path

import mindspore
import numpy as np
from mindspore import Tensor, nn

mindspore.set_device("Ascend")
CONFIG = Path("cfg_path/profiler_config.json")
#: Steps that are done.
done = 0


def Net():
    return nn.Dense(8, 4)


def train(net):
    """A step that takes half a second."""
    global done
    net(Tensor(np.ones((2, 8), np.float32))).asnumpy()
    time.sleep(0.5)
    done += 1
    if done == 6:  # the first window is over
        settings = json.loads(CONFIG.read_text())
        CONFIG.write_text(json.dumps({**settings, "start_step": 8, "stop_step": 10}))
        time.sleep(4)  # the file is read every two seconds


# vendor
from mindspore.profiler import DynamicProfilerMonitor

# cfg_path includes the path of the above JSON configuration file, output_path is the output path
dp = DynamicProfilerMonitor(cfg_path="./cfg_path", output_path="./output_path")
STEP_NUM = 15
# Define the training model network
net = Net()
for _ in range(STEP_NUM):
    train(net)
    # Call step to collect
    dp.step()
# end

from mindspore.profiler.profiler import analyse

for window in sorted(Path("output_path").iterdir()):
    analyse(str(window))
