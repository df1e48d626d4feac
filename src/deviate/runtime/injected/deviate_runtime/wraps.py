"""The functions an overlay calls. Each hands its value on and never raises an exception of its own.

What the program printed is read after the run; a note for each iteration that was preceded by output tells which
iteration a line is of. Nothing is written to the program's output, and nothing is flushed: it is buffered as ever.

Read a number off a value, as the author's formatting would.
"""

import builtins
import functools
import gc
import os
import re
import sys
import time
import types

from .patching import raised_by_handler
from .records import AT_ONCE, RECORD

#: A time that is written with its units, or like one of a day, and the seconds of each part.
SPENT = re.compile(r"(?:(\d+)d ?)?(?:(\d+)h ?)?(?:(\d+)m ?)?(\d+(?:\.\d+)?)s$|(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)$")
SECONDS = (86400, 3600, 60, 1, 3600, 60, 1)


class NotANumberError(Exception):
    """The value is no number; the message describes it."""


def read_number(value):
    """Return `value` as a float.

    Raises NotANumberError if it is text, None, or holds more than one number. Reading may raise whatever the value's
    type raises.
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


#: The id under which iterations of the main loop are recorded.
MAIN_LOOP = -1

#: Nested mappings are followed this far.
DEEPEST = 4


def make_record(process):
    """Return the function that appends one record."""
    records, pack_into, clock, size = process.records, RECORD.pack_into, time.perf_counter, RECORD.size

    def record(metric, number):
        elapsed = clock() - process.started
        take, count, memory, times = records.window
        slot = take()
        if slot < count:
            pack_into(memory, slot * size, metric, process.iteration, 0.0, number)
            times[slot * 3 + 1] = elapsed or AT_ONCE
        else:
            records.append(metric, elapsed, number)

    return record


class Recorder:
    """Reads numbers off values that are no plain floats."""

    def __init__(self, process, record):
        self.process = process
        self.record = record
        self.names = Names(process)
        self.printed = Printed(process.config["records"], record)
        self.metrics = process.config["metrics"]
        #: Attributes that lead from a metric's object to its number.
        self.paths = {number: m["reads"] for number, m in enumerate(self.metrics) if m.get("reads")}

    def value(self, metric, value, label):
        """Record the number that `value` is; of a dictionary, which only a run can show, those under its keys."""
        path = self.paths.get(metric)
        if path is not None and type(value) is not float:
            value = read_attributes(value, path)
        if isinstance(value, dict):
            self.mapping(metric, value, "" if label is None else "%s/" % (label(),))
            return
        number = read_number(value)
        if label is not None:
            metric = self.names.fill(metric, label())
        if metric is not None:
            self.record(metric, number)

    def mapping(self, metric, mapping, prefix="", depth=0):
        """Record each number in `mapping` under its key."""
        for key, value in items(mapping):
            name = prefix + str(key)
            if hasattr(value, "items") and depth < DEEPEST:
                self.mapping(metric, value, name + "/", depth + 1)
            elif value is not None:
                self.named(metric, name, value)

    def named(self, metric, name, value):
        """Record `value` under a name known at run time only, if it is a number."""
        try:
            number = read_number(value)
        except Exception as error:
            if raised_by_handler(error):
                raise
            if not isinstance(value, (str, bytes)):
                called = name if metric is None else "%s of %s" % (name, self.describe(metric))
                self.process.events.note("value-unreadable", "%s: %s" % (called, describe(error)), (metric, name))
            return
        identity = self.names.number(metric, name)
        if identity is not None:
            self.record(identity, number)

    def tick(self, item=None):
        """Count and record an iteration of the main loop, which goes on with `item`."""
        try:
            self.process.tick(item)
            self.record(MAIN_LOOP, self.process.iteration)
            self.printed.look()
        except Exception as error:
            self.failed(MAIN_LOOP, error)

    def describe(self, metric):
        """Return what `metric` is called in a note."""
        if metric is None:
            return "the logs of a framework"
        if metric == MAIN_LOOP:
            return "the main loop"
        return self.metrics[metric]["name"] if metric < len(self.metrics) else "metric %d" % metric

    def failed(self, metric, error):
        """Note, once per metric, that a value could not be recorded; hand on what is meant for the program."""
        if raised_by_handler(error):
            raise error
        self.process.events.note("value-unreadable", "%s: %s" % (self.describe(metric), describe(error)), metric)


def describe(error):
    """Return the text of a note about `error`."""
    return str(error) if isinstance(error, NotANumberError) else repr(error)


def items(mapping):
    """Return the pairs of a mapping, a named tuple or a plain object."""
    if hasattr(mapping, "items"):
        return list(mapping.items())
    if hasattr(mapping, "_asdict"):
        return list(mapping._asdict().items())
    if isinstance(mapping, (list, tuple, str, bytes)) or not hasattr(mapping, "__dict__"):
        raise NotANumberError("it is no mapping but of type %s" % type(mapping).__name__)
    return list(vars(mapping).items())


def make_wraps(process):
    """Return the functions an overlay calls, by name, and the recorder behind them."""
    record = make_record(process)
    recorder = Recorder(process, record)
    return dict(value_wraps(recorder, record), **loop_wraps(process, recorder)), recorder


def value_wraps(recorder, record):
    """Return the functions that record a value and hand it on."""

    def pass_value(metric, value, label=None):
        try:
            if type(value) is float and label is None:
                record(metric, value)
            else:
                recorder.value(metric, value, label)
        except Exception as error:
            recorder.failed(metric, error)
        return value

    def pass_mapping(metric, mapping, label=None):
        try:
            recorder.mapping(metric, mapping, "" if label is None else "%s/" % (label(),))
        except Exception as error:
            recorder.failed(metric, error)
        return mapping

    def pass_beside(metric, passed, value, label=None):
        try:
            recorder.value(metric, value(), label)
        except Exception as error:
            recorder.failed(metric, error)
        return passed

    return {"__dv__": pass_value, "__dv_map__": pass_mapping, "__dv_beside__": pass_beside}


def loop_wraps(process, recorder):
    """Return the functions that count iterations of the main loop."""

    class Loop(map):
        """The items of a loop. No Python frame of the runtime's stands between the loop and its iterator."""

        __slots__ = ()

        def __iter__(self):
            process.is_entering = True
            return self

    def tick(item):
        process.counts_source_loop = True
        recorder.tick(item)
        return item

    #: What a ``while`` loop counted at its last iteration.
    last = None

    def pass_condition(condition, counted=None):
        nonlocal last
        if not condition:
            process.is_entering = True
            return False
        number = None if counted is None else read_counter(counted)
        # A loop that was left by `break` and is entered again counts anew.
        if number is not None and last is not None and number < last:
            process.is_entering = True
        last = number
        tick(number)
        return True

    return {"__dv_loop__": functools.partial(Loop, tick), "__dv_while__": pass_condition}


def read_counter(counted):
    """Return what a loop counts, None where it is no whole number or not bound yet."""
    try:
        number = counted()
    except Exception as error:
        if raised_by_handler(error):
            raise
        return None
    return number if type(number) is int else None


def pass_side(comparison, side, value):
    """Leave a side of a comparison as it is."""
    return value


def pass_function(site, function):
    """Leave a function that draws as it is."""
    return function


def install(process):
    """Put the functions into `builtins`."""
    wraps, recorder = make_wraps(process)
    process.recorder = recorder
    if process.config.get("reports"):
        from .reports import watch_reports

        process.reports = watch_reports(process, recorder.printed)
    wraps["__dv_draw__"], wraps["__dv_side__"] = pass_function, pass_side
    if process.predictions is not None:
        from .predictions.metrics import Comparisons

        wraps["__dv_side__"] = Comparisons(process.predictions, process.config["comparisons"]).function()
    if process.streams is not None and process.config.get("draws"):
        from .reports import make_draw

        wraps["__dv_draw__"] = make_draw(process)
    for name, function in wraps.items():
        setattr(builtins, name, function)
        if isinstance(function, types.FunctionType):
            # Libraries that pickle a function of the program's, as dill does, find it by its name.
            function.__module__, function.__name__, function.__qualname__ = "builtins", name, name


#: The ids under which the size of the output so far is recorded, in bytes.
STDOUT = -2
STDERR = -3

#: The files that the output of a run is led to, in the folder of its records.
FILES = {STDOUT: "stdout.log", STDERR: "stderr.log"}


class Printed:
    """Notes how much a process and its run had printed.

    Parameters
    ----------
    folder : str
        The run's folder.
    record : function
        Called with an id and a number.
    """

    __slots__ = ("record", "places", "streams", "noted")

    def __init__(self, folder, record):
        self.record = record
        self.noted = {STDOUT: 0, STDERR: 0}
        #: Functions that return how much was printed, by id; none where the output goes elsewhere.
        self.places = {}
        #: Python's own streams that lead to them, by id.
        self.streams = {}
        if leads_to(1, folder, FILES[STDOUT]):
            self.places[STDOUT] = size_of(sys.__stdout__)
            self.streams[STDOUT] = sys.__stdout__
        if leads_to(2, folder, FILES[STDERR]):
            # Python writes each line to it at once.
            self.places[STDERR] = lambda: os.lseek(2, 0, os.SEEK_CUR)
            self.streams[STDERR] = sys.__stderr__

    def look(self):
        """Record how much was printed, where that is more than at the last look."""
        for identity, place in list(self.places.items()):
            try:
                size = place()
            except (OSError, ValueError):
                del self.places[identity]  # the program closed it
                continue
            if size != self.noted[identity]:
                self.noted[identity] = size
                self.record(identity, size)


def leads_to(descriptor, folder, name):
    """Tell whether a descriptor is of a file of the run's."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(os.path.join(folder, name)))
    except (OSError, ValueError):
        return False


def size_of(stream):
    """Return a function that returns how much was written to a text stream, in bytes, what it still holds included."""
    if type(getattr(stream, "buffer", None)).__name__ != "BufferedWriter":
        return lambda: os.lseek(1, 0, os.SEEK_CUR)
    tell, nothing = stream.buffer.tell, held_by(stream)
    return lambda: tell() + held_by(stream) - nothing


def held_by(stream):
    """Return the length of all text and bytes that a text stream refers to: what it has not yet handed on, and names.

    CPython's stream shows what it holds to the garbage collector only, as text that is ASCII, bytes, or a list of them.
    """
    length = 0
    for each in gc.get_referents(stream):
        kind = type(each)
        if kind is str or kind is bytes:
            length += len(each)
        elif kind is list:
            length += sum(map(len, each))
    return length


FIRST_ID = 1000000

#: A name that changes with every record (a step in it, say) is no metric's.
MAX_NAMES = 2000
MAX_NAME_LENGTH = 200

#: Put before the keys under which a framework's training loop reports.
PREFIX = "fit:"


class Names:
    """Ids of the names this process met."""

    __slots__ = ("process", "ids", "statics", "patterns", "sourced", "made")

    def __init__(self, process):
        self.process = process
        self.ids = {}
        self.made = 0
        metrics = process.config["metrics"]
        reported = [(m["name"], number) for number, m in enumerate(metrics) if m["how"] == "framework"]
        #: Names that a framework reports and the analysis foresaw, whole or in part (``fit:{stage}_loss``).
        self.statics = {name: number for name, number in reported if "{" not in name}
        partly = sorted((pair for pair in reported if "{" in pair[0]), key=lambda pair: -len(pair[0]))
        self.patterns = [(pattern_of(name), number) for name, number in partly]
        #: Names that a framework reports of what the source yields as well.
        self.sourced = {m["key"] for m in metrics if m.get("key")}

    def forget(self):
        """Be as before the first name: a forked child writes its own events."""
        self.ids = {}
        self.made = 0

    def number(self, metric, name):
        """Return the id of `name`, None where there are too many; `metric` is the id it belongs to, or None."""
        name = name[:MAX_NAME_LENGTH]
        known = self.ids.get((metric, name))
        if known is not None:
            return known
        if metric is None:
            if name in self.statics:
                return self.ids.setdefault((None, name), self.statics[name])
            owner = next((number for pattern, number in self.patterns if pattern.match(name)), None)
            if owner is not None:
                bare = name[len(PREFIX) :] if name.startswith(PREFIX) else name
                return self.ids.setdefault((None, name), self.number(owner, bare))
        if self.made >= MAX_NAMES:
            self.process.events.note("too-many-names", "more than %d names; %r is left out" % (MAX_NAMES, name), metric)
            return None
        self.made += 1
        number = self.ids[metric, name] = FIRST_ID + self.made - 1
        self.process.events.write({"event": "name", "id": number, "metric": metric, "name": name})
        return number

    def fill(self, metric, label):
        """Return the id of a metric whose name has a placeholder for `label`."""
        known = self.ids.get((metric, label)) if type(label) is str else None
        if known is not None:
            return known
        described = self.process.config["metrics"][metric]
        name = described["name"].replace("{%s}" % described["label"], str(label)[:MAX_NAME_LENGTH])
        number = self.number(metric, name)
        if type(label) is str and number is not None:
            self.ids[metric, label] = number
        return number


def pattern_of(name):
    """Return what matches `name` with any text for each part in braces."""
    parts = re.split(r"\{[^{}]*\}", name)
    return re.compile("(.+)".join(map(re.escape, parts)) + "$")
