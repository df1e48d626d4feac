"""The functions an overlay calls. Each hands its value on and never raises an exception of its own."""

import builtins
import functools
import time
import types

from .interruption import raised_by_handler
from .names import Names
from .printed import Printed
from .reading import NotANumberError, read_attributes, read_number
from .records import AT_ONCE, RECORD

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
        from .predictions.comparisons import Comparisons

        wraps["__dv_side__"] = Comparisons(process.predictions, process.config["comparisons"]).function()
    if process.streams is not None and process.config.get("draws"):
        from .sites import make_draw

        wraps["__dv_draw__"] = make_draw(process)
    for name, function in wraps.items():
        setattr(builtins, name, function)
        if isinstance(function, types.FunctionType):
            # Libraries that pickle a function of the program's, as dill does, find it by its name.
            function.__module__, function.__name__, function.__qualname__ = "builtins", name, name
