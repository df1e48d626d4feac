"""What graphs of TensorFlow hand on while they are computed, and the tapes that tell training from evaluation."""

import sys

from .calls import is_distributed


class Tapes:
    """The tapes that record, and the graphs in which one did: these are of training."""

    depth = 0
    graphs = None


def in_tape():
    """Tell whether a tape records what is computed now."""
    return Tapes.depth > 0


def is_training_trace():
    """Tell whether the function that is being traced had a tape."""
    graph = default_graph()
    while graph is not None:
        if graph in Tapes.graphs:
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


def default_graph():
    """Return the graph that is being built; None where TensorFlow computes at once."""
    tensorflow = sys.modules.get("tensorflow")
    if not hasattr(tensorflow, "executing_eagerly") or tensorflow.executing_eagerly():
        return None
    return tensorflow.compat.v1.get_default_graph()


def observe_graph(keras, target, predicted, threshold):
    """Have the graph of a function that evaluates hand on what a metric is updated with."""
    tensorflow, graph = sys.modules["tensorflow"], default_graph()
    if graph is None or not keras.predictions.wanted or is_training_trace():
        return
    utilities = sys.modules["tensorflow.python.ops.control_flow_util"]
    if is_distributed() or utilities.GraphOrParentsInXlaContext(graph):
        keras.miss("a metric", "it is updated in a function that XLA compiles")
        return

    def take(target, predicted):
        # It runs in a thread of TensorFlow's, while the program's waits for the graph.
        predictions = keras.predictions
        try:
            frame = sys._current_frames().get(predictions.thread)
            with predictions.in_thread():
                predictions.training = False
                keras.metrics.take_update((predicted, target), {}, threshold, frame)
        except Exception as error:
            predictions.failed(error)

    seen = keras.graphs.setdefault(graph, set())
    if (id(target), id(predicted)) not in seen:
        seen.add((id(target), id(predicted)))
        tensorflow.numpy_function(take, [target, predicted], [])
