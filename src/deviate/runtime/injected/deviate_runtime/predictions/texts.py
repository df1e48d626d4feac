"""Inputs that are texts, and what language models predict: a class for each token of each sequence."""

import hashlib
import sys

from ..streams.examples import mixed, row_hashes
from .outputs import Outputs, is_floating, is_tensor, numpy_of, read_outputs
from .passes import Batch

#: Characters of a text that are kept.
LONGEST = 200


def texts_of(value, size):
    """Return the beginnings of the texts in a list or an array, shape ``(size,)``; None for anything else."""
    numpy = sys.modules["numpy"]
    if type(value) is numpy.ndarray:
        value = value.reshape(-1).tolist() if value.size == size and value.dtype.kind in "UO" else None
    if not is_texts(value) or len(value) != size:
        return None
    return numpy.array([text[:LONGEST] for text in value], dtype="U%d" % LONGEST)


def text_array(value):
    """Return an array of Python's texts, which an array of these or a tensor of TensorFlow's holds; None for others."""
    numpy = sys.modules["numpy"]
    if type(value).__name__ == "EagerTensor" and value.dtype.name == "string":
        array = numpy.asarray(value)
        texts = [text.decode("utf-8", "replace") for text in array.flat]
        return numpy.array(texts, dtype=object).reshape(array.shape)
    is_array = type(value) is numpy.ndarray and value.dtype.kind == "O" and value.size
    return value if is_array and all(type(text) is str for text in value.flat) else None


def text_hashes(texts):
    """Return a number for each text of a list or an array, by all of its characters."""
    numpy = sys.modules["numpy"]
    digests = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return numpy.frombuffer(b"".join(digests), dtype=numpy.uint64)


def is_texts(value):
    """Tell whether a value is a list of texts."""
    return type(value) in (list, tuple) and bool(value) and all(type(text) is str for text in value)


def texts_in(batch):
    """Return the lists of texts in a batch of a loader, with their names, empty where they have none."""
    if type(batch) is dict:
        return [(str(name), value) for name, value in batch.items() if is_texts(value)]
    return [("", value) for value in batch if is_texts(value)] if type(batch) in (list, tuple) else []


def joined_texts(named, size):
    """Return the texts of each example, of several columns with their names; None where there are none."""
    named = [(name, value) for name, value in named if len(value) == size]
    if len(named) < 2:
        return texts_of(named[0][1], size) if named else None
    heads = [name and name + ": " for name, _ in named]
    rows = zip(*(value for _, value in named))  # noqa: B905
    texts = ["; ".join(head + text[:LONGEST] for head, text in zip(heads, row)) for row in rows]  # noqa: B905
    return texts_of(texts, size)


#: Classes up to which scores are read: the probability of a token costs more than its label.
MAX_CLASSES = 1000

#: What libraries put in the place of a target where there is none.
IGNORED = -100

#: Classes of models that are given their input as the target, and predict from each token the next one.
CAUSAL = ("ForCausalLM", "LMHeadModel")


def is_tokens(value):
    """Tell whether an output is a score for each of several classes, one row a token of a sequence."""
    shape = getattr(value, "shape", ())
    return len(shape) == 3 and min(shape) > 0 and shape[2] > 1 and is_floating(value)


def token_batch(module, output, tensors, args, kwargs):
    """Return the tokens of a batch; None where the output is in no memory that can be read."""
    array, target = numpy_of(output), given_tokens(output, args, kwargs)
    if array is None or (target is None and not are_tokens(tensors, array)):
        return None
    rows = row_hashes(numpy_of(tensors[0])) if tensors and len(tensors[0]) == len(output) else None
    digest = None if rows is None else numbered(sys.modules["numpy"], rows, array.shape[1])
    if target is not None and type(module).__name__.endswith(CAUSAL):
        array, target = array[:, :-1], target[:, 1:]
        digest = None if digest is None else digest[:, :-1]
    flat = array.reshape(-1, array.shape[2])
    batch = Batch(len(flat), outputs=read_tokens(flat), digest=None if digest is None else digest.reshape(-1))
    if target is not None:
        batch.target, batch.is_confirmed = target.reshape(-1).copy(), True
        leave_out_ignored(batch)
    return batch


def are_tokens(tensors, scores):
    """Tell whether a model is called on sequences of tokens; what it returns of others are hidden states."""
    return bool(tensors) and not is_floating(tensors[0]) and tuple(tensors[0].shape) == scores.shape[:2]


def given_tokens(output, args, kwargs):
    """Return the targets that a model is called with: after its input, one whole number for each token."""
    torch, shape = sys.modules["torch"], tuple(output.shape[:2])
    named = [kwargs.get(name) for name in ("labels", "targets", "target")]
    given = [value for value in (*named, *args[1:]) if is_tensor(torch, value) and tuple(value.shape) == shape]
    arrays = [numpy_of(value) for value in given if not is_floating(value) and value.dtype != torch.bool]
    return arrays[0] if arrays and (len(arrays) == 1 or arrays[0] is not None) else None


def numbered(numpy, rows, length):
    """Return a number for each token, of its sequence and its place there."""
    return mixed(numpy, rows[:, None] * numpy.uint64(3) + numpy.arange(length, dtype=numpy.uint64))


def read_tokens(scores):
    """Return the label of each token, with its score where there are few classes."""
    if scores.shape[1] <= MAX_CLASSES:
        return read_outputs(scores, keep_scores=False)
    return Outputs(len(scores), {"label": scores.argmax(axis=1)}, scores.shape[1])


def leave_out_ignored(batch):
    """Leave out the tokens that no loss counts."""
    kept = batch.target != IGNORED
    if kept.all():
        return
    batch.size = int(kept.sum())
    batch.target = batch.target[kept]
    batch.digest = None if batch.digest is None else batch.digest[kept]
    batch.outputs.size = batch.size
    batch.outputs.columns = {name: column[kept] for name, column in batch.outputs.columns.items()}
