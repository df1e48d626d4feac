"""Six small trainings: five of PyTorch, as model, inputs and targets, and one of Keras, which trains."""

import os
import time

os.environ.update(OMP_NUM_THREADS="1", KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")
os.environ.update(TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="1")

import torch
from torch import nn


def mlp():
    """Make three layers on vectors."""
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers), [torch.randn(128, 784)], torch.randint(10, (128,))


def cnn():
    """Make convolutions, batch normalisation, pooling and an upsampling."""
    blocks = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    blocks += [nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2, mode="bilinear")]
    blocks += [nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10)]
    return nn.Sequential(*blocks), [torch.randn(32, 3, 32, 32)], torch.randint(10, (32,))


def rnn():
    """Make an embedding and an LSTM over characters."""
    text = torch.randint(96, (32, 65))
    return _Characters(), [text[:, :-1]], text[:, 1:].flatten()


class _Characters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(96, 64), nn.Linear(128, 96)
        self.lstm = nn.LSTM(64, 128, batch_first=True)

    def forward(self, text):
        return self.out(self.lstm(self.embed(text))[0]).flatten(0, 1)


def transformer():
    """Make two layers of a transformer over tokens."""
    tokens = torch.randint(1000, (8, 65))
    return _Tokens(), [tokens[:, :-1]], tokens[:, 1:].flatten()


class _Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(1000, 128), nn.Linear(128, 1000)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 2)

    def forward(self, tokens):
        return self.out(self.body(self.embed(tokens))).flatten(0, 1)


def graph():
    """Make messages along edges, summed by index_add, with the degrees by scatter_add."""
    edges = torch.randint(2000, (2, 20000))
    return _Messages(), [torch.randn(2000, 64), *edges], torch.randint(7, (2000,))


class _Messages(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 7)

    def step(self, nodes, source, target):
        return torch.zeros_like(nodes).index_add(0, target, nodes[source])

    def forward(self, nodes, source, target):
        degree = torch.zeros(len(nodes)).scatter_add(0, target, torch.ones(len(target))).clamp(min=1)[:, None]
        hidden = torch.relu(self.step(self.first(nodes), source, target) / degree)
        return self.step(self.second(hidden), source, target) / degree


def train_keras(held):
    """Train convolutions in Keras on TensorFlow, on shuffled and mapped data; return the processor seconds."""
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    if held:
        tf.config.experimental.enable_op_determinism()
    layers = [keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.MaxPooling2D(), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((28, 28, 1)), *layers, keras.layers.Dropout(0.2), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rng = np.random.default_rng(0)
    images, labels = rng.random((2048, 28, 28, 1), dtype=np.float32), rng.integers(10, size=2048)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(2048)
    data = data.map(lambda image, label: (tf.image.random_flip_left_right(image), label), num_parallel_calls=2)
    data = data.batch(64)
    model.fit(data, epochs=1, verbose=0)
    began = time.process_time()
    model.fit(data, epochs=1, verbose=0)
    return time.process_time() - began
