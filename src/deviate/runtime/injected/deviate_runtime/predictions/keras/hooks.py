"""Where the program calls Keras: methods of trainers and metrics, and the tapes of TensorFlow."""

import sys
import weakref

from ...patching import observes, replaces
from .graphs import Tapes, default_graph
from .models import keras_of


def watch_trainer(module, process):
    """Take what models are evaluated on as `fit`, `evaluate` and `predict` are over."""
    keras = keras_of(process)
    cls = next(value for name, value in vars(module).items() if name.lower() in TRAINERS)
    for name, take in (("fit", keras.fitted), ("evaluate", keras.evaluated), ("predict", keras.predicted)):
        watch_method(cls, name, keras, take)
    for name in ("train_on_batch", "test_on_batch", "predict_on_batch"):
        watch_method(cls, name, keras, None)


TRAINERS = ("tensorflowtrainer", "jaxtrainer", "torchtrainer")

#: The parameters of methods of trainers, in their order.
PARAMETERS = {
    "fit": (
        "x y batch_size epochs verbose callbacks validation_split validation_data shuffle class_weight sample_weight "
        "initial_epoch steps_per_epoch validation_steps validation_batch_size validation_freq"
    ).split(),
    "evaluate": "x y batch_size verbose sample_weight steps callbacks return_dict".split(),
    "predict": "x batch_size verbose steps callbacks".split(),
}


def watch_method(cls, name, keras, take):
    """Have a method of a trainer taken notice of where the program calls it."""
    plain = getattr(cls, name)
    if hasattr(plain, "_deviate"):
        return

    @replaces(cls, name)
    def method(self, *args, **kwargs):
        if not keras.wanted:
            return plain(self, *args, **kwargs)
        keras.depth += 1
        try:
            if name == "fit":
                keras.predictions.train()
            returned = plain(self, *args, **kwargs)
        finally:
            keras.depth -= 1
        if take is not None:
            try:
                arguments = dict(zip(PARAMETERS[name], args), **kwargs)  # noqa: B905
                further = (returned,) if name == "predict" else ()
                take(self, sys._getframe(1), arguments, *further)
            except Exception as error:
                keras.predictions.failed(error)
        return returned


def watch_metrics(module, process):
    """Take what the metrics of Keras are updated with in loops of one's own."""
    keras = keras_of(process)
    observes(module.MeanMetricWrapper, "update_state", keras.updated, first=True)


def watch_resets(module, process):
    """Know when a metric begins anew."""
    keras = keras_of(process)
    observes(module.Metric, "reset_state", lambda *args, **kwargs: keras.reset(), first=True)


def watch_tapes(module, process):
    """Know what TensorFlow records for a gradient: it is training."""
    Tapes.graphs = weakref.WeakSet()
    cls = module.GradientTape
    plain_push, plain_pop = cls._push_tape, cls._pop_tape
    predictions = process.predictions

    @replaces(cls, "_push_tape")
    def _push_tape(self):
        plain_push(self)
        graph = default_graph()
        if graph is None:
            Tapes.depth += 1
            predictions.training = True
        else:
            Tapes.graphs.add(graph)

    @replaces(cls, "_pop_tape")
    def _pop_tape(self):
        plain_pop(self)
        if Tapes.depth and default_graph() is None:
            Tapes.depth -= 1
