"""Document 000, the legacy Profiler around Model.train: between "# vendor" and "# end" is its code. Around it is what it leaves
out: a network, and data in files of MindRecord."""

import os

import numpy as np
from mindspore import dataset
from mindspore.mindrecord import FileWriter
from mindspore.nn import MSELoss as CrossEntropyLoss
from mindspore.nn import Momentum
from mindspore.nn import SequentialCell

writer = FileWriter("data.mindrecord", overwrite=True)
writer.add_schema({"data": {"type": "float32", "shape": [8]}, "label": {"type": "float32", "shape": [4]}})
rows = [{"data": np.random.rand(8).astype(np.float32), "label": np.random.rand(4).astype(np.float32)} for _ in range(24)]
writer.write_raw_data(rows)
writer.commit()


def create_mindrecord_dataset_for_training():
    return dataset.MindDataset("data.mindrecord", ["data", "label"]).batch(2)


def Net():
    return network


def MyOptimizer(learning_rate, params):
    return Momentum(params, learning_rate, 0.9)


# vendor
from mindspore.profiler import Profiler
from mindspore import Model, nn, context
# end

network = SequentialCell(nn.Dense(8, 16), nn.ReLU(), nn.Dense(16, 4))

# vendor
def test_profiler():
    # Init context env
    context.set_context(mode=context.GRAPH_MODE, device_target='Ascend', device_id=int(os.environ["DEVICE_ID"]))
    # Init Profiler
    profiler = Profiler()
    # Init hyperparameter
    epoch = 2
    # Init network and Model
    net = Net()
    loss_fn = CrossEntropyLoss()
    optim = MyOptimizer(learning_rate=0.01, params=network.trainable_params())
    model = Model(net, loss_fn=loss_fn, optimizer=optim, metrics=None)
    # Prepare mindrecord_dataset for training
    train_ds = create_mindrecord_dataset_for_training()
    # Model Train
    model.train(epoch, train_ds)
    # Profiler end
    profiler.analyse()
# end

test_profiler()
