"""What models of Keras 3 predict: once `evaluate` or `fit` is over, in `predict`, in loops of one's own.

The graphs of `evaluate` and of the validation in `fit` are compiled, and stay as they are: a further output may change
what the compiler joins, and with it the last bits. So the model is called once more on the same data when they are
over, where these can be read again without a change to them, as arrays and data sets of TensorFlow that draw nothing
can. What the call may change, the variables that are not trained, is put back.
"""

import sys
import weakref

from ...streams.examples import as_array, row_hashes
from ..features import MOST, features_of, rows_kept
from ..metrics import Metrics
from ..outputs import is_scores, is_values, numpy_of, read_outputs
from ..passes import Batch
from ..pictures import pictures_of
from ..targets import read_targets
from ..texts import text_hashes, texts_of
from .calls import Unchanged, call_again, is_distributed
from .data import batches_of, first_array, is_binary, is_dataset, is_pure, rows_of
from .graphs import in_tape, is_training_trace, observe_graph

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
