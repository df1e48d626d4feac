"""Keras 3: what its models predict, in methods of trainers, in loops of one's own, in graphs of TensorFlow."""
