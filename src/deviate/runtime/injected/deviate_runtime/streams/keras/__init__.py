"""Keras 3 and `tf_keras`: seed generators, layers, the order of the data, optimizers."""
