"""Keras 3, Keras 2 and `tf_keras`: seed generators, layers, the order of the data, optimizers."""
