"""Inputs that are texts, as the program hands them to a model or its loader yields them."""

import hashlib
import sys

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
