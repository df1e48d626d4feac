"""Further calls of models of Keras, after which all is as it was before."""

import sys

from ..undrawn import Undrawn
from .data import first_array


def call_again(model, inputs, size, take_features):
    """Return what a model returns for inputs, as an array, and what `take_features` returns then."""
    keras = sys.modules["keras"]
    if keras.backend.backend() == "jax":
        return call_jax(model, inputs, size, take_features)
    if keras.backend.backend() == "torch":
        with sys.modules["torch"].no_grad():
            return keras.ops.convert_to_numpy(model(inputs, training=False)), take_features()
    output = model(inputs, training=False)
    return keras.ops.convert_to_numpy(output) if hasattr(output, "shape") else output, take_features()


def call_jax(model, inputs, size, take_features):
    """Call a model in one compiled function, whatever size the last batch has."""
    keras, jax, numpy = (sys.modules[name] for name in ("keras", "jax", "numpy"))
    compiled = vars(model).get("_deviate_call")
    if compiled is None:

        def call(trainable, others, inputs):
            output = model.stateless_call(trainable, others, inputs, training=False)[0]
            return output, take_features()

        compiled = jax.jit(call)
        object.__setattr__(model, "_deviate_call", compiled)
    rows = len(first_array(inputs))

    def filled(array):
        array = numpy.asarray(array)
        return numpy.concatenate([array, numpy.repeat(array[-1:], size - rows, axis=0)]) if rows < size else array

    inputs = keras.tree.map_structure(filled, inputs)
    variables = [[each.value for each in group] for group in (model.trainable_variables, model.non_trainable_variables)]
    output, features = compiled(*variables, inputs)
    features = None if features is None else numpy.asarray(features)[:rows]
    return numpy.asarray(output)[:rows] if hasattr(output, "shape") else output, features


class Unchanged(Undrawn):
    """Puts back what calling a model changed: variables that are not trained, and states of generators."""

    def __init__(self, model, streams):
        super().__init__(streams)
        self.variables = list(model.non_trainable_variables)

    def __enter__(self):
        numpy = sys.modules["numpy"]
        self.values = [numpy.array(each) for each in self.variables]
        super().__enter__()

    def __exit__(self, *raised):
        numpy = sys.modules["numpy"]
        for each, value in zip(self.variables, self.values):  # noqa: B905
            if not numpy.array_equal(numpy.array(each), value):
                each.assign(value)
        super().__exit__(*raised)


def is_distributed():
    """Tell whether TensorFlow or Keras distributes what is computed."""
    tensorflow, keras = sys.modules.get("tensorflow"), sys.modules.get("keras")
    if hasattr(tensorflow, "distribute") and tensorflow.distribute.has_strategy():
        return True
    return getattr(keras, "distribution", None) is not None and keras.distribution.distribution() is not None
