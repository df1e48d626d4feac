"""What models of Keras 3 predict: once `evaluate` or `fit` is over, in `predict`, in loops of one's own.

The graphs of `evaluate` and of the validation in `fit` are compiled, and stay as they are: a further output may change
what the compiler joins, and with it the last bits. So the model is called once more on the same data when they are
over, where these can be read again without a change to them, as arrays and data sets of TensorFlow that draw nothing
can. What the call may change, the variables that are not trained, is put back.
"""

import itertools
import sys
import weakref

from ..patching import observes, replaces
from ..streams.examples import as_array, row_hashes
from .metrics import Metrics
from .outputs import is_scores, is_values, numpy_of, pictures_of, read_outputs, read_targets
from .passes import MOST, Batch, Undrawn, features_of, rows_kept
from .texts import text_array, text_hashes, texts_of

#: Examples that are predicted again at most, and the share of all that was computed which that may cost.
MAX_ROWS = 200000
SHARE = 0.02

#: Forward passes that an example in training costs as much as.
TRAINING = 3

AGAIN = "%s: %s; its predictions are not captured; `--predictions FILE` takes them from a file that the program writes"


def keras_of(process):
    """Return what is known of Keras in one process."""
    predictions = process.predictions
    known = vars(predictions).get("predictions.keras")
    if known is None:
        known = vars(predictions)["predictions.keras"] = Keras(process)
    return known


class Keras:
    """The models of Keras in one process.

    Attributes
    ----------
    depth : int
        Methods of trainers that the program is in: what these call is theirs.
    is_again : bool
        Whether a model is being called once more.
    work, spent : float
        Forward passes of examples that the program made, and those that were made again.
    """

    def __init__(self, process):
        self.process = process
        self.predictions = process.predictions
        self.metrics = Metrics(process)
        self.depth = 0
        self.is_again = False
        self.work = self.spent = 0.0
        self.sites = set()
        #: What graphs hand on, by the identities of their tensors.
        self.graphs = weakref.WeakKeyDictionary()

    @property
    def wanted(self):
        """Whether to capture what the program itself calls."""
        return not self.depth and self.predictions.wanted

    def see(self, args):
        """Take down what a dense layer is called on, where the call of the model around it is looked at."""
        if self.is_again or self.wanted:
            self.predictions.last_input.see_input(args)

    def take_features(self):
        """Return what entered the dense layer that was called last; None where it is not kept."""
        last_input = self.predictions.last_input
        return None if last_input is None else last_input.take()

    def miss(self, name, reason):
        """Take down why an evaluation is not captured."""
        self.predictions.miss(name, AGAIN % (name, reason))

    # Methods of trainers

    def fitted(self, model, frame, arguments):
        """Take what a model predicts on the data that validated it, as its training is over."""
        rows = rows_of(arguments.get("x"))
        epochs = arguments.get("epochs", 1)
        self.work += TRAINING * rows * epochs
        data = arguments.get("validation_data")
        if data is None and arguments.get("validation_split"):
            slicing = sys.modules["keras.src.trainers.data_adapters.array_slicing"]
            arrays = arguments.get("x"), arguments.get("y")
            _, data = slicing.train_validation_split(arrays, arguments["validation_split"])
        if data is not None:
            x, y = data[:2] if isinstance(data, (tuple, list)) else (data, None)
            self.work += rows_of(x) * epochs
            size = arguments.get("validation_batch_size") or arguments.get("batch_size")
            self.predict_again(model, frame, x, y, size, arguments.get("validation_steps"))

    def evaluated(self, model, frame, arguments):
        """Take what a model predicts on the data that it was evaluated on."""
        x, y = arguments.get("x"), arguments.get("y")
        self.work += rows_of(x)
        self.predict_again(model, frame, x, y, arguments.get("batch_size"), arguments.get("steps"))

    def predicted(self, model, frame, arguments, returned):
        """Take what `predict` returned; what it is compared with comes later."""
        self.predictions.evaluate()
        x = arguments.get("x")
        self.work += rows_of(x)
        features, rows = self.features_again(model, frame, x, arguments.get("batch_size") or 32)
        self.add(frame, x, returned, None, features, rows)

    def features_again(self, model, frame, x, size):
        """Call a model once more on those examples of an array whose features are kept; return these and their rows."""
        array, numpy = as_array(x), sys.modules["numpy"]
        if self.predictions.last_input is None or array is None or self.reason_against(model, x, x, len(array), None):
            return None, None
        digests = row_hashes(array)
        if digests is None or not self.may_spend(frame, min(len(array), MOST)):
            return None, None
        rows = rows_kept(numpy, digests)
        again = self.called_again(model, array[rows], None, size, None)
        parts = [numpy_of(features) for _, _, (_, features) in again]
        known = parts and all(part is not None and part.ndim == 2 for part in parts)
        return (numpy.concatenate(parts), rows) if known else (None, None)

    def add(self, frame, x, output, target, features=None, rows=None):
        """Add a batch of an evaluation, with its targets and its features, of some rows, where they are known."""
        output = numpy_of(output)
        if output is None or not (is_scores(output) or is_values(output)):
            return False
        batch = Batch(len(output), outputs=read_outputs(output, self.predictions.keep_scores))
        array = first_array(x)
        if array is not None and len(array) == len(output):
            batch.digest = text_hashes(array.reshape(-1)) if is_text(array) else row_hashes(array)
            batch.inputs = inputs_of(array, batch.size) if self.predictions.keep_scores else None
        if target is not None:
            batch.target = read_targets(target, len(output))
            batch.is_confirmed = batch.target is not None
            if batch.is_confirmed and batch.outputs.width == 1 and is_binary(batch.target):
                batch.label = batch.outputs.columns["value"] > 0.5
        array = numpy_of(features)
        batch.features = features_of(features if array is None else array, batch.size if rows is None else len(rows))
        batch.feature_rows = rows
        self.predictions.add(batch, frame)
        return True

    def predict_again(self, model, frame, x, y, size, steps):
        """Call a model once more on data that it was evaluated on."""
        size = size or 32
        rows = rows_of(x)
        reason = self.reason_against(model, x, y, rows, steps)
        if reason is not None:
            self.miss(type(model).__name__, reason)
            return
        if not self.may_spend(frame, rows):
            return  # the pass before it is kept
        self.predictions.evaluate()
        for inputs, target, (output, features) in self.called_again(model, x, y, size, steps):
            if not self.add(frame, inputs, output, target, features):
                self.miss(type(model).__name__, "its output is no score of each class and no value")
                break
        self.predictions.current = None
        self.predictions.end_passes()

    def may_spend(self, frame, rows):
        """Tell whether a model may be called again on so many examples, once at each point and at a small share."""
        site = self.predictions.chain(frame)
        if site in self.sites and self.spent + rows > SHARE * self.work:
            return False
        self.sites.add(site)
        self.spent += rows
        return True

    def called_again(self, model, x, y, size, steps):
        """Yield inputs, targets, and what a model called on these returned with its features."""
        self.depth += 1
        self.is_again = True
        try:
            with Unchanged(model, self.process.streams):
                for inputs, target in batches_of(x, y, size, steps):
                    yield inputs, target, call_again(model, inputs, size, self.take_features)
        finally:
            self.depth -= 1
            self.is_again = False

    def reason_against(self, model, x, y, rows, steps):
        """Return why a model cannot be called on its data again; None where it can."""
        if getattr(model, "_distribute_strategy", None) is not None or is_distributed():
            return "it is distributed over devices"
        if is_dataset(x):
            if not is_pure(x):
                return "its data set may hold something else when it is read again"
            rows = rows or (MAX_ROWS + 1 if steps is None else 0)
        elif first_array(x) is None or as_array(y) is None and numpy_of(y) is None:
            return "its data are neither arrays nor a data set of TensorFlow"
        return "more than %d examples" % MAX_ROWS if rows > MAX_ROWS else None

    # Loops of one's own

    def called(self, layer, args, kwargs, returned):
        """Take what the outermost call of a layer returned, where it has values already."""
        predictions = self.predictions
        try:
            if not self.wanted:
                return
            features = self.take_features()
            if numpy_of(returned) is None:
                return
            if in_tape() or kwargs.get("training"):
                predictions.train()
            else:
                predictions.evaluate()
                self.add(sys._getframe(2), args[0] if args else None, returned, None, features)
        except Exception as error:
            predictions.failed(error)

    def updated(self, metric, *args, **kwargs):
        """Take what a metric is updated with, or have its graph hand that on."""
        predictions = self.predictions
        try:
            args = (*args, *(kwargs[name] for name in ("y_true", "y_pred") if name in kwargs))
            if self.depth or len(args) < 2:
                return
            target, predicted = args[:2]
            threshold = getattr(metric, "_fn_kwargs", {}).get("threshold")
            if numpy_of(predicted) is not None:
                self.metrics.take_update((predicted, target), {}, threshold)
            elif type(predicted).__name__ == "SymbolicTensor":
                self.observe(target, predicted, threshold)
            elif predictions.wanted and not is_training_trace():
                self.miss(type(metric).__name__, "it is updated in a compiled function")
        except Exception as error:
            predictions.failed(error)

    def observe(self, target, predicted, threshold=None):
        """Have the graph of a function of TensorFlow's hand on what it measures."""
        if not self.depth and type(target) is type(predicted):
            observe_graph(self, target, predicted, threshold)

    def reset(self):
        """End passes as a metric begins anew."""
        try:
            if self.wanted and self.predictions.open:
                self.predictions.end_passes()
        except Exception as error:
            self.predictions.failed(error)


def is_text(array):
    """Tell whether an array has one text of Python's an example."""
    return array.dtype.kind == "O" and array.size == len(array)


def inputs_of(array, size):
    """Return the inputs of a model where they are pictures or texts; None for others."""
    pictures = pictures_of(array, size, 3)
    return texts_of(array, size) if pictures is None else pictures


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


#: Data sets of TensorFlow that hold the same whenever they are read, with functions that draw nothing.
PURE = frozenset(
    "_%sDataset" % name
    for name in (
        "Batch Cache Concatenate Map Options PaddedBatch ParallelBatch ParallelMap Prefetch Range Skip Take Tensor "
        "TensorSlice Zip"
    ).split()
)


def rows_of(value):
    """Return how many examples data hold; 0 where that is not known."""
    if is_dataset(value):
        batches = int(value.cardinality())
        shape = first_shape(value.element_spec)
        return max(0, batches) * ((shape[0] or 0) if shape else 0) or max(0, batches) * 32
    array = first_array(value)
    return 0 if array is None else len(array)


def first_shape(spec):
    """Return the shape of the first tensor that a specification has."""
    while isinstance(spec, (tuple, list, dict)) and spec:
        spec = next(iter(spec.values())) if isinstance(spec, dict) else spec[0]
    shape = getattr(spec, "shape", None)
    return None if shape is None or shape.rank in (None, 0) else shape.as_list()


def first_array(value):
    """Return the first array of a nest of arrays, None for anything else."""
    while type(value) in (tuple, list, dict) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    array = text_array(value)
    array = numpy_of(value) if array is None else array
    return array if array is not None and array.ndim and type(value) not in (tuple, list) else None


def is_dataset(value):
    """Tell whether a value is a data set of TensorFlow's."""
    tensorflow = sys.modules.get("tensorflow")
    return hasattr(tensorflow, "data") and isinstance(value, tensorflow.data.Dataset)


def is_pure(dataset):
    """Tell whether a data set holds the same whenever it is read, and reading it changes nothing."""
    waiting = [dataset]
    while waiting:
        each = waiting.pop()
        if type(each).__name__ not in PURE or any(is_stateful(function) for function in each._functions()):
            return False
        waiting += each._inputs()
    return int(dataset.cardinality()) > 0


def is_stateful(function):
    """Tell whether a function of a data set draws, reads files or calls Python."""
    graph = function.function.graph
    return any(
        operation.op_def is None or operation.op_def.is_stateful
        for operation in graph.get_operations()
        if operation.type != "Placeholder"
    )


def batches_of(x, y, size, steps):
    """Yield inputs and targets of each batch."""
    if is_dataset(x):
        for batch in itertools.islice(iter(x), steps):
            yield batch[0], batch[1]
        return
    tree = sys.modules["keras.src.tree"] if "keras.src.tree" in sys.modules else sys.modules["keras"].tree
    rows = len(first_array(x))
    for start in range(0, min(rows, size * steps) if steps else rows, size):
        targets = None if y is None else y[start : start + size]
        yield tree.map_structure(lambda array: array[start : start + size], x), targets  # noqa: B023


def is_binary(target):
    """Tell whether targets are two classes."""
    return target.dtype.kind in "iufb" and bool(((target == 0) | (target == 1)).all())
