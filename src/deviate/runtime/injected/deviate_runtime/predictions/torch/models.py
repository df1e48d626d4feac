"""What models of PyTorch return where they are evaluated, with the targets that loaders and losses show."""

import sys
import weakref

from ...streams.examples import row_hashes
from ..features import features_of
from ..outputs import is_floating, is_scores, is_tensor, is_values, numpy_of, read_outputs
from ..passes import Batch
from ..pictures import pictures_of
from ..targets import one_hot, read_targets
from ..texts import joined_texts, text_hashes, texts_in
from ..tokens import is_tokens, token_batch
from .loaders import loaders_of
from .nests import TARGETS, has_entries, tensors_in

#: Where models return several things, the names of those that are scores.
NAMES = ("logits", "scores", "prediction", "predictions", "output", "out")

LOSSES = "torch.nn.modules.loss"

#: Losses of two classes, with the output from which on the second one is predicted.
THRESHOLDS = {"BCEWithLogitsLoss": 0, "BCELoss": 0.5}

UNREAD = "%s returned %s, which is no score of each class, no value and no token of each example: its predictions are \
not captured; `--predictions FILE` takes them from a file that the program writes"


class Models:
    """The outermost calls of models in one process."""

    def __init__(self, torch, predictions):
        self.torch = torch
        self.predictions = predictions
        self.tracing = getattr(torch._C, "_get_tracing_state", lambda: None)
        self.loaders = loaders_of(predictions)
        #: What the model returned last, by itself and as the batch that it became.
        self.latest = None, None

    def look(self, module, args, kwargs, returned):
        """Take what a call returned in evaluation; one in training ends it."""
        predictions = self.predictions
        trains = module.training and self.torch.is_grad_enabled()
        if trains and predictions.last_input is not None:
            predictions.last_input.input = None
        if trains and not predictions.evaluating:
            predictions.training = True
            self.loaders.trained = self.loaders.count
            return
        try:
            if not predictions.wanted or self.tracing() is not None:
                return
            if not has_parameters(module):
                if predictions.evaluating and type(module).__module__ == LOSSES:
                    self.judge(type(module).__name__, args)
                return
            if trains:
                self.loaders.trained = self.loaders.count
                predictions.train(self.loaders.latest_series())
                return
            self.evaluate(module, returned, args, kwargs)
        except Exception as error:
            predictions.failed(error)

    def evaluate(self, module, returned, args, kwargs):
        """Take what a model returned, unless another model was trained on the same batch before."""
        predictions = self.predictions
        output = main_output(returned)
        tensors = list(tensors_in((args, kwargs)))
        loaded = None if output is None else self.loaders.find(len(output), tensors)
        if loaded is not None and loaded.number <= self.loaders.trained:
            return
        predictions.evaluate()
        before, batch_before = self.latest
        if batch_before is not None and any(before() is tensor for tensor in tensors):
            predictions.leave_out(batch_before)
        if output is not None:
            self.add(module, output, tensors, loaded, args, kwargs)
        else:
            self.miss(module, next(tensors_in(returned), None))

    def add(self, module, output, tensors, loaded, args, kwargs):
        """Add a batch with what is known of it."""
        predictions = self.predictions
        if output.dim() == 3:
            batch = token_batch(module, output, tensors, args, kwargs)
            series, part = None, ""
        else:
            batch = Batch(len(output), outputs=read_outputs(output, predictions.keep_scores), source=loaded)
            batch.model = id(module)
            self.describe(batch, tensors, args, kwargs, loaded)
            if predictions.last_input is not None:
                batch.features = features_of(predictions.last_input.take(), batch.size)
                batch.inputs = first_inputs(tensors, (args, kwargs), loaded, batch.size)
            series, part = (loaded.series, loaded.part) if loaded else (None, "")
        if batch is None or batch.outputs is None:
            self.miss(module, output)
            return
        predictions.add(batch, sys._getframe(3), series, part)
        self.latest = weakref.ref(output), batch

    def miss(self, module, output):
        """Take down that an output of a model cannot be read."""
        name = type(module).__name__
        shape = "no tensor" if output is None else "a tensor of " + "x".join(map(str, output.shape))
        self.predictions.miss(name, UNREAD % (name, shape))

    def describe(self, batch, tensors, args, kwargs, loaded):
        """Take down which examples a batch holds, and their targets where they are known."""
        digests = (digest_of(tensor, batch.size) for tensor in (*tensors, *(loaded.alive() if loaded else ())))
        batch.digest = next((digest for digest in digests if digest is not None), None)
        if batch.digest is None:
            texts = next((texts for _, texts in (*texts_in(args), *texts_in(kwargs)) if len(texts) == batch.size), None)
            batch.digest = None if texts is None else text_hashes(texts)
        batch.target = given_target(kwargs, batch.size)
        batch.is_confirmed = batch.target is not None
        if loaded is not None:
            batch.index = loaded.index_of(batch.size)
            if batch.target is None:
                batch.target = loaded.target(batch.size, tensors)

    def judge(self, name, args):
        """Take what a loss is computed of: outputs and targets."""
        batch = self.predictions.current
        if batch is None or len(args) != 2 or not all(is_tensor(self.torch, each) and each.dim() for each in args):
            return
        output, target = args
        if tuple(output.shape) == tuple(target.shape) and output.dim() == 2 and output.shape[1] > 1:
            target = one_hot(target) if is_floating(target) else None
            if target is None:
                batch.outputs = None  # several values an example, or a reconstruction
                return
        outputs = read_outputs(output, self.predictions.keep_scores)
        target = read_targets(target, len(output))
        if outputs is not None and target is not None and len(target) == batch.size:
            batch.confirm(target, outputs=outputs)
            if name in THRESHOLDS and "value" in outputs.columns and batch.label is None:
                batch.label = outputs.columns["value"] > THRESHOLDS[name]


def first_inputs(tensors, called_on, loaded, size):
    """Return the first of the inputs of a model that are pictures, else texts that it or its loader has; or None."""
    found = (pictures_of(tensor, size, 1) for tensor in tensors)
    pictures = next((pictures for pictures in found if pictures is not None), None)
    if pictures is not None:
        return pictures
    args, kwargs = called_on
    texts = joined_texts([*texts_in(args), *texts_in(kwargs)], size)
    return joined_texts(loaded.texts, size) if texts is None and loaded is not None else texts


def has_parameters(module):
    """Tell whether a module is a model: a loss, or an activation, has no parameters."""
    return next(sys.modules["torch"].nn.Module.parameters(module), None) is not None


def main_output(returned, depth=0):
    """Return the tensor that is scores or values among what a model returned, None where there is none."""
    if is_tensor(sys.modules["torch"], returned):
        return returned if is_scores(returned) or is_values(returned) or is_tokens(returned) else None
    if depth > 1:
        return None
    if has_entries(returned):
        entries = dict(returned.items())
        items = [entries[name] for name in NAMES if name in entries] or list(entries.values())
    elif isinstance(returned, (list, tuple)):
        items = returned
    else:
        return None
    outputs = (main_output(item, depth + 1) for item in items)
    return next((output for output in outputs if output is not None), None)


def digest_of(tensor, size):
    """Return a number for each row of an input in this machine's memory, None for any other tensor."""
    if tensor.ndim == 0 or len(tensor) != size or tensor.device.type != "cpu":
        return None
    array = numpy_of(tensor)
    return None if array is None else row_hashes(array)


def given_target(kwargs, size):
    """Return the targets that a model is called with."""
    found = (read_targets(kwargs[name], size) for name in TARGETS if kwargs.get(name) is not None)
    return next((target for target in found if target is not None), None)
