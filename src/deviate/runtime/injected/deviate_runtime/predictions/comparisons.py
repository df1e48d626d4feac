"""The program's own comparisons of predictions with targets, wrapped in its source: ``(predicted == target).sum()``."""

import sys

from .outputs import flat, is_on_device, numpy_of

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
