"""Metrics of libraries, called with what was to be predicted and what was: scikit-learn, torchmetrics, evaluate.

The program's own comparisons of predictions with targets, wrapped in its source: ``(predicted == target).sum()``.
"""

import functools
import sys
import weakref

from ..patching import inside_library, observes
from .outputs import flat, is_floating, is_on_device, is_scores, is_values, numpy_of, read_outputs, read_targets

#: Functions of scikit-learn by what their second argument is.
LABELS = (
    "accuracy_score balanced_accuracy_score classification_report cohen_kappa_score confusion_matrix f1_score "
    "fbeta_score hamming_loss jaccard_score matthews_corrcoef multilabel_confusion_matrix precision_score "
    "precision_recall_fscore_support recall_score zero_one_loss"
).split()
VALUES = (
    "explained_variance_score max_error mean_absolute_error mean_absolute_percentage_error mean_squared_error "
    "mean_squared_log_error median_absolute_error r2_score root_mean_squared_error"
).split()
SCORES = "log_loss roc_auc_score top_k_accuracy_score".split()

#: What these are called by name.
PREDICTED = ("y_pred", "y_score", "y_prob", "y_proba", "y2", "predictions", "preds")
TARGETS = ("y_true", "y1", "references", "target")

#: Searches and folds of scikit-learn evaluate what is no model of the program's yet.
SEARCHES = "sklearn/model_selection/"
#: So does an estimator that stops early.
FITS = ("fit", "partial_fit")


class Metrics:
    """What metrics of one process are called on."""

    def __init__(self, process):
        self.predictions = process.predictions
        self.latest = []

    def take(self, kind, args, kwargs):
        """Take what a function is called on once for all examples, targets first."""
        predictions = self.predictions
        try:
            if not predictions.evaluates:
                return
            frame = sys._getframe(2)
            target, predicted = chosen(args, 0, kwargs, TARGETS), chosen(args, 1, kwargs, PREDICTED)
            if target is None or predicted is None or is_search(frame, predictions.callers):
                return
            self.measure(predictions.measure_all, frame, target, predicted, kind, kwargs.get("labels"))
        except Exception as error:
            predictions.failed(error)

    def take_update(self, args, kwargs, threshold=None, frame=None):
        """Take what a metric is updated with, batch by batch, predictions first."""
        predictions = self.predictions
        try:
            if not predictions.evaluates:
                return
            predicted, target = chosen(args, 0, kwargs, PREDICTED), chosen(args, 1, kwargs, TARGETS)
            if self.is_again(predicted, target):
                return
            predicted, target = array_of(predicted), array_of(target)
            if predicted is None or target is None:
                return
            kind = "values" if is_floating(target) else "scores" if is_floating(predicted) else "labels"
            self.measure(predictions.measure, frame or sys._getframe(2), target, predicted, kind, None, threshold)
        except Exception as error:
            predictions.failed(error)

    def is_again(self, *arrays):
        """Tell whether another metric, or the same one in another way, took the very arrays before."""
        is_again = len(self.latest) == 2 and all(one() is other for one, other in zip(self.latest, arrays))  # noqa: B905
        self.latest = [weakref.ref(array) for array in arrays if hasattr(array, "dtype")]
        return is_again

    def measure(self, measure, frame, target, predicted, kind, labels, threshold=None):
        """Hand on targets with labels or outputs, where they are one entry an example."""
        target, label, outputs = read_pair(target, predicted, kind, labels, self.predictions.keep_scores, threshold)
        if target is not None:
            measure(frame, target, label, outputs)


def chosen(args, place, kwargs, names):
    """Return an argument by its place or its name, None where there is none."""
    if len(args) > place:
        return args[place]
    return next((kwargs[name] for name in names if name in kwargs), None)


def is_search(frame, callers):
    """Tell whether scikit-learn itself evaluates: for a search, for folds, or while it fits."""
    while frame is not None and not callers.is_program(frame):
        inside = inside_library(frame.f_code.co_filename) or ""
        if inside.startswith(SEARCHES) or (frame.f_code.co_name in FITS and inside.startswith("sklearn/")):
            return True
        frame = frame.f_back
    return False


def read_pair(target, predicted, kind, labels, keep_scores, threshold):
    """Return targets with labels or with outputs; None for what is not one entry an example."""
    nothing = None, None, None
    target, predicted = array_of(target), array_of(predicted)
    if target is None or predicted is None or not (target.ndim and predicted.ndim and len(target)):
        return nothing
    if kind == "labels":
        label, target = first_choices(predicted, target)
        is_column = label is not None and all(size == 1 for size in tuple(label.shape)[1:])
        return (flat(target), flat(label), None) if is_column else nothing
    targets = read_targets(target, len(predicted))
    if targets is None:
        return nothing
    if kind == "values":
        outputs = read_outputs(predicted if is_floating(predicted) else predicted * 1.0, keep_scores)
        return (targets, None, outputs) if outputs is not None and outputs.width == 1 else nothing
    if is_on_device(predicted):
        outputs = read_outputs(predicted, keep_scores)
        return nothing if outputs is None or outputs.width == 1 else (targets, None, outputs)
    return scored(targets, predicted, labels, keep_scores, threshold)


def array_of(value):
    """Return the array that an argument of a metric is, of a list its own; None where it is neither."""
    if type(value) in (list, tuple):
        array = sys.modules["numpy"].asarray(value)
        return numpy_of(array) if array.ndim else None
    return column_of(value)


def scored(target, scores, labels, keep_scores, threshold):
    """Return targets with the scores of all classes, or with one score and the labels that a threshold makes of it."""
    numpy = sys.modules["numpy"]
    if is_scores(scores):
        classes = numpy.unique(target) if labels is None else numpy.asarray(labels)
        outputs = read_outputs(scores, keep_scores)
        if classes.shape != (scores.shape[1],) or (classes == numpy.arange(len(classes))).all():
            return (target, None, outputs) if not is_floating(target) else (None, None, None)
        return target, classes[outputs.columns["label"]], None
    if threshold is not None and is_values(scores) and not is_floating(target):
        scores = scores.reshape(-1)
        if ((scores < 0) | (scores > 1)).any():
            scores = 1 / (1 + numpy.exp(-scores.astype(float)))
        return target, (scores > threshold).astype(numpy.int64), None
    if threshold is None and is_values(scores):
        return target, None, read_outputs(scores, keep_scores)  # no label: a ranking has no threshold
    return None, None, None


# scikit-learn


def watch_sklearn(module, process):
    """Take what the metrics of scikit-learn are called on, where programs look them up."""
    metrics = Metrics(process)
    for kind, names in (("labels", LABELS), ("values", VALUES), ("scores", SCORES)):
        for name in names:
            plain = getattr(module, name, None)
            if plain is not None and not hasattr(plain, "_deviate"):
                setattr(module, name, watched(plain, metrics, kind, module.__name__))


def watched(plain, metrics, kind, module):
    """Return a metric that is taken notice of."""

    @functools.wraps(plain)
    def metric(*args, **kwargs):
        value = plain(*args, **kwargs)
        metrics.take(kind, args, kwargs)
        return value

    # It is pickled by the name under which programs look it up.
    metric.__module__ = module
    metric._deviate = True
    return metric


# torchmetrics


def watch_torchmetrics(module, process):
    """Take what metrics of torchmetrics are updated with."""
    metrics = Metrics(process)
    cls = module.Metric
    plain = cls._wrap_update
    if hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def _wrap_update(self, update):
        return plain(self, updated(self, update))

    def updated(self, update):
        @functools.wraps(update)
        def taken(*args, **kwargs):
            returned = update(*args, **kwargs)
            metrics.take_update(args, kwargs, vars(self).get("threshold"))
            return returned

        return taken

    _wrap_update._deviate = True
    cls._wrap_update = _wrap_update


# evaluate


def watch_evaluate(module, process):
    """Take what metrics of evaluate are computed of, at once or batch by batch."""
    metrics = Metrics(process)
    # Instances copy the code of the method.
    observes(module.EvaluationModule, "add_batch", lambda self, *args, **kwargs: metrics.take_update(args, kwargs))


COMPILED = (
    "predictions are compared with their targets in a function that JAX compiles, which stays as it is: they are not "
    "captured; with `--predictions scores` the function is evaluated once more at the end; `--predictions FILE` takes "
    "them from a file that the program writes"
)


class Comparisons:
    """The two sides of comparisons, the second of which comes right after the first.

    Parameters
    ----------
    order : sequence of bool
        For each comparison of the source, whether its left side is the target.
    """

    def __init__(self, predictions, order):
        self.predictions = predictions
        self.order = order
        self.left = None, None

    def function(self):
        """Return the function that the overlay calls with a side, which hands it on."""

        def pass_side(comparison, side, value):
            self.take(comparison, side, value)
            return value

        return pass_side

    def take(self, comparison, side, value):
        """Take one side down; with the second one, take the comparison."""
        predictions = self.predictions
        try:
            if not predictions.evaluates:
                return
            if not side:
                self.left = comparison, value if is_array(value) else None
                return
            (left_comparison, left), self.left = self.left, (None, None)
            if left_comparison == comparison and left is not None and is_array(value):
                sides = (value, left) if self.order[comparison] else (left, value)
                self.compare(sides, sys._getframe(1))
        except Exception as error:
            predictions.failed(error)

    def compare(self, sides, frame):
        """Take predictions and targets, each as one column."""
        columns = [column_of(each) for each in sides]
        if any(column is None for column in columns):
            self.leave(sides)
            return
        label, target = first_choices(*columns)
        if label is not None:
            self.predictions.measure(frame, flat(target), flat(label))

    def leave(self, sides):
        """Take down that what a compiled function compares has no values here; have a graph hand them on."""
        label, target = sides
        kinds = {type(side).__name__ for side in sides}
        if "SymbolicTensor" in kinds and "predictions.keras" in vars(self.predictions):
            vars(self.predictions)["predictions.keras"].observe(target, label)
        elif any(kind.endswith("Tracer") for kind in kinds):
            self.predictions.miss("compiled", COMPILED)
            if "predictions.jax" in vars(self.predictions):
                vars(self.predictions)["predictions.jax"].see(sides)


def is_array(value):
    """Tell whether a value has dimensions: comparisons of single numbers are no evaluation."""
    return bool(getattr(value, "shape", ()))


def column_of(value):
    """Return an array, or a tensor on a device; None for what has no values yet or ever."""
    return value.detach() if is_on_device(value) else numpy_of(value)


def first_choices(label, target):
    """Return predictions and targets of equal shape; of several choices for each example, the first.

    Of ``pred.t()`` and ``target.expand_as(pred)`` in an accuracy within the best k, row 0 is the best one.
    """
    shape = tuple(label.shape)
    if len(shape) != 2:
        return (label, target) if shape == tuple(target.shape) else (None, None)
    rows, columns = shape
    if tuple(target.shape) in ((columns,), (1, columns)) and rows > 1:
        return label[0], target.reshape(-1)
    if tuple(target.shape) == (rows, 1) and columns > 1:
        return label[:, 0], target.reshape(-1)
    if tuple(target.shape) != shape:
        return None, None
    if repeats(target, 0):
        return label[0], target[0]
    if repeats(target, 1):
        return label[:, 0], target[:, 0]
    return label, target


def repeats(target, axis):
    """Tell whether targets are the same along an axis: expanded, or so by their values where both axes are long."""
    strides = target.stride() if is_on_device(target) else target.strides
    if target.shape[axis] > 1 and not strides[axis]:
        return True
    first = target[:1] if axis == 0 else target[:, :1]
    return min(target.shape) > 1 and bool((target == first).all())
