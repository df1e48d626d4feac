"""Read a number off a value, as the author's formatting would."""

import re

#: A time that is written with its units, or like one of a day, and the seconds of each part.
SPENT = re.compile(r"(?:(\d+)d ?)?(?:(\d+)h ?)?(?:(\d+)m ?)?(\d+(?:\.\d+)?)s$|(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)$")
SECONDS = (86400, 3600, 60, 1, 3600, 60, 1)


class NotANumberError(Exception):
    """The value is no number; the message describes it."""


def read_number(value):
    """Return `value` as a float.

    Raises
    ------
    NotANumberError
        If it is text, None, or holds more than one number. Reading may raise whatever the value's type raises.
    """
    kind = type(value)
    read = READERS.get(kind)
    if read is None:
        read = READERS[kind] = choose_reader(kind)
    return read(value)


#: How values of each type met so far are read.
READERS = {float: float, int: float, bool: float}

#: How values of types are read that derive from one of these.
BASES = {}


def choose_reader(kind):
    """Return the function that reads values of the type `kind`."""
    for base, read in BASES.items():
        if issubclass(kind, base):
            return read
    if issubclass(kind, (str, bytes)):
        return read_text
    if issubclass(kind, (float, int)) or is_numpy_scalar(kind):
        return float
    if hasattr(kind, "shape"):
        return read_element if hasattr(kind, "item") else read_array
    return float if hasattr(kind, "__float__") else refuse


def is_numpy_scalar(kind):
    """Tell whether float() reads values of `kind` as well as ``item`` does, in an eighth of the time."""
    return kind.__module__ == "numpy" and kind.__name__.startswith(("float", "int", "uint", "bool"))


def refuse(value):
    """Refuse values of a type that is no number."""
    raise NotANumberError("it is of type %s" % type(value).__name__)


def read_element(value):
    """Return the only element of an array or tensor (float() of an array with axes makes NumPy warn)."""
    try:
        element = value.item()
    except (ValueError, TypeError, RuntimeError):
        complain_of_size(value)
        raise
    return element if type(element) is float else read_plain(element)


def read_array(value):
    """Return the only element of an array whose type has no ``item`` (TensorFlow's)."""
    complain_of_size(value)
    return read_plain(value.numpy().item()) if hasattr(value, "numpy") else float(value)


def complain_of_size(value):
    """Refuse an array that holds no number, or several."""
    size = 1
    for length in value.shape:
        size *= int(length)
    if size != 1:
        raise NotANumberError("it holds %d numbers" % size)


def read_plain(element):
    """Return the element of an array as a float, if it is a number of Python's."""
    if isinstance(element, (float, int, str)):
        return read_number(element)
    raise NotANumberError("its element is of type %s" % type(element).__name__)


def read_text(text):
    """Return the number that `text` consists of, a percent sign after it aside; of a time spent, the seconds."""
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    if len(text) > 64:
        raise NotANumberError("it is text")
    text = text.strip()
    if text.endswith("%"):
        text = text[:-1]
    try:
        return float(text)
    except ValueError:
        spent = SPENT.match(text)
        if spent is None:
            raise NotANumberError("it is the text %r" % text) from None
        return sum(float(part) * seconds for part, seconds in zip(spent.groups(), SECONDS) if part)  # noqa: B905


def read_attributes(value, path):
    """Return what the dotted attributes `path` lead to."""
    for name in path.split("."):
        value = getattr(value, name)
    return value
