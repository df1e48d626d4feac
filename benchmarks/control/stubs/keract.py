"""Stands in for the library of that name: activations are only shown, so all are zero."""

import numpy


def get_activations(model, x, layer_names):
    """Return an attention of zero for each element of each sequence."""
    return {layer_names: numpy.zeros(x.shape[:2])}
