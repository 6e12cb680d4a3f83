"""Document 002: the callbacks of mindformers with the document's settings (mindformers.yaml), which its Trainer makes where `profile`
is True."""

import sys
from pathlib import Path

import mindspore
import numpy as np
import yaml
from mindspore import dataset, nn

mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")

from mindformers.core.callback.callback import ProfileMonitor, SummaryMonitor

config = yaml.safe_load(Path(sys.argv[1]).read_text())
net = nn.Dense(8, 4)
data = dataset.NumpySlicesDataset((np.ones((30, 8), np.float32), np.ones((30, 4), np.float32)), ["data", "label"]).batch(2)
model = mindspore.train.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9))
profiling = ProfileMonitor(
    start_step=config["profile_start_step"],
    stop_step=config["profile_stop_step"],
    start_profile=config["init_start_profile"],
    profile_communication=config["profile_communication"],
    profile_memory=config["profile_memory"],
    profiler_level=None,  # as where the settings do not name it
)
model.train(1, data, callbacks=[profiling, SummaryMonitor(collect_freq=10)], dataset_sink_mode=False)
