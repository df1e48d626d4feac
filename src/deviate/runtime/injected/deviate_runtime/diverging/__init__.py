"""Find where two runs part: digests of each step, and of every operation and line of one step.

Input: the environment variable ``DEVIATE_DIVERGE``, a JSON object, set in trial runs of ``deviate diverge`` only:
``marks``   ``[first, last]`` between which every step is marked, beside steps 0, 1, 2, 4, 8, …; null: only those
``record``  ``[unit, first, last]``: operations and lines are recorded from the mark of step ``first`` of ``update`` or
            ``iteration`` on, null for the start of the program, to that of ``last``, null for its end; null: none are
``alone``   true: each operation is called twice instead, and those are recorded whose two calls leave other bits
``put``     ``[[place, given], …]``: what operations at these places leave, or are given, is kept; with ``put from``,
            the folder of another run, what that kept is put in its place

Output: ``diverge-PID-STAMP.jsonl``, one JSON object a line: ``process``, ``mark``, ``operation``, ``frame``, ``line``,
``return`` and ``done``, see `deviate.probes.divergence.records`.

An update is a step of an optimizer of PyTorch, and its mark stands before it; an iteration is one of the main loop.

The digests of a step: batch, loss, gradients, weights, state of the optimizer, and states of generators.
"""

import atexit
import json
import os
import sys
import weakref

from ..files import APPENDING, own_path, own_stem, use_file
from ..patching import replaces
from .digests import Digests


def watch_updates(torch, process):
    """Mark steps of optimizers; in a program that records, have every operation pass by."""
    diverging = process.diverging
    optim = sys.modules["torch.optim.optimizer"]
    if not hasattr(optim, "register_optimizer_step_pre_hook"):
        process.events.note("not-compared", "this version of PyTorch has no hooks of optimizers")
        return
    updates = diverging.updates = Updates(torch, diverging)
    optim.register_optimizer_step_pre_hook(updates.before)
    optim.register_optimizer_step_post_hook(updates.after)
    diverging.finishing.append(updates.finish)
    watch_losses(torch, updates)
    if diverging.unit is not None:
        from .operations import make_recorder

        recorder = make_recorder(torch, diverging)
        diverging.recorders.append(recorder)
        if diverging.is_recording:
            recorder.begin()


def watch_losses(torch, updates):
    """Take the digest of what gradients are asked of."""

    @replaces(torch.autograd, "backward")
    def backward(tensors, *args, **kwargs):
        updates.take("loss", tensors)
        return plain(tensors, *args, **kwargs)

    plain = backward.__wrapped__


def watch_loaders(module, process):
    """Take the digests of the batches that loaders of PyTorch yield."""
    diverging = process.diverging
    cls = module._BaseDataLoaderIter
    plain = cls.__next__

    @replaces(cls, "__next__")
    def __next__(iterator):
        batch = plain(iterator)
        updates = getattr(diverging, "updates", None)
        if updates is not None:
            updates.take("batch", batch)
        return batch


class Updates:
    """The updates of one process.

    Attributes
    ----------
    step : int
        Number of the next update.
    is_updating : bool
        An optimizer is at work.
    taken : dict
        Digests of this step so far, by part.
    """

    def __init__(self, torch, diverging):
        self.torch = torch
        self.diverging = diverging
        self.step = 0
        self.is_updating = False
        self.taken = {}
        self.optimizers = []
        self.known = weakref.WeakSet()
        # Hooks of torch are no part of a compiled graph.
        self.before = outside_graphs(self.before_update)
        self.after = outside_graphs(self.after_update)

    def take(self, part, value):
        """Take the digest of a part of a step that is marked; all that come in one step enter one text."""
        diverging = self.diverging
        ends = diverging.unit == "update" and self.step == diverging.last
        if not diverging.is_done and (ends or diverging.is_marked(self.step)):
            digest = diverging.attempt(diverging.digests.of, value)
            self.taken[part] = "%s %s" % (self.taken.get(part, ""), digest)

    def before_update(self, optimizer, args, kwargs):
        """Mark the step that ends with this update."""
        if optimizer not in self.known:
            self.known.add(optimizer)
            self.optimizers.append(weakref.ref(optimizer))
        self.diverging.passed("update", self.step, lambda: self.parts(optimizer))
        self.taken = {}
        self.step += 1
        self.is_updating = True

    def after_update(self, optimizer, args, kwargs):
        """Note that the optimizer has done its work."""
        self.is_updating = False

    def parts(self, optimizer):
        """Return the digests of a step by part."""
        of = self.diverging.digests.of
        weights = [each for group in optimizer.param_groups for each in group["params"]]
        generators = self.diverging.digests.shared_states()
        return dict(
            self.taken,
            weights=of(weights),
            gradients=of([each.grad for each in weights]),
            state=of([optimizer.state.get(each) for each in weights]),
            **{"generator " + name: state for name, state in generators.items()},
        )

    def finish(self):
        """Mark the weights that the program ends with."""
        alive = [optimizer for optimizer in (each() for each in self.optimizers) if optimizer is not None]
        weights = [each for optimizer in alive for group in optimizer.param_groups for each in group["params"]]
        digest = self.diverging.digests.of(weights)
        record = {"e": "mark", "unit": "update", "step": self.step, "end": True, "parts": {"weights": digest}}
        self.diverging.write(record)


def outside_graphs(function):
    """Return a function that the compiler leaves alone."""

    def hook(*args):
        return function(*args)

    hook._torchdynamo_disable = True
    return hook


def variables(diverging):
    """Return the digests of the arrays that the function with the main loop has, by name."""
    frame = author_frame(diverging)
    return arrays(diverging, frame.f_locals) if frame is not None else {}


def author_frame(diverging):
    """Return the innermost frame of the program, None where there is none."""
    callers = diverging.process.streams.callers if diverging.process.streams is not None else None
    frame = sys._getframe(1)
    while frame is not None and (callers is None or not callers.is_program(frame)):
        frame = frame.f_back
    return frame


def arrays(diverging, values):
    """Return the digests of what holds arrays, by name."""
    digests = ((name, diverging.digests.of(value)) for name, value in list(values.items()) if holds_arrays(value))
    return {name: digest for name, digest in digests if digest is not None}


def holds_arrays(value, depth=0):
    """Tell whether a value is an array or a model, or a container with one."""
    if isinstance(value, (list, tuple, dict)):
        items = value.values() if isinstance(value, dict) else value
        return depth < 3 and any(holds_arrays(item, depth + 1) for item in list(items)[:20])
    kind = type(value)
    return any(hasattr(kind, name) for name in ("dtype", "get_weights", "get_params"))


VARIABLE = "DEVIATE_DIVERGE"

#: Records that are kept in memory before they are written.
BUFFERED = 2000

encoded = json.JSONEncoder(default=repr).encode


def start(process):
    """Return what looks at the steps of this process; None where nobody asks, or draws are not looked at."""
    order = os.environ.get(VARIABLE)
    return Diverging(process, json.loads(order)) if order and process.streams is not None else None


class Diverging:
    """What is looked at in one process.

    Attributes
    ----------
    number : int
        Records so far: they are in order of execution.
    recorders : list
        What has to be told when recording begins and ends: the dispatch mode and the tracer of lines.
    """

    def __init__(self, process, order):
        self.process = process
        self.marks = order.get("marks")
        self.is_alone = order.get("alone", False)
        self.put = order.get("put")
        self.put_from = order.get("put from")
        self.unit, self.first, self.last = order.get("record") or (None, None, None)
        self.digests = Digests(process)
        self.recorders = []
        self.is_recording = self.is_done = False
        self.finishing = []
        self.lines = None
        self.forget()

    def begin(self):
        """Begin with the program."""
        from .lines import Lines

        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)
        if self.unit is not None:
            self.lines = Lines(self)
            if not self.is_alone:
                self.recorders.append(self.lines)
            if self.first is None:
                self.record()
            else:
                # What is set up before the first step may come to bear in any other.
                self.lines.begin()

    def hooks(self):
        """Return what is called after the import of a module, before all else that is."""
        return [
            ("torch", "diverging:watch_updates"),
            ("torch.utils.data.dataloader", "diverging:watch_loaders"),
        ]

    def forget(self):
        """Begin anew in a forked child, with a file of its own."""
        self.path = None
        self.number = 0
        self.buffer = []
        if self.lines is not None:
            self.lines.inherited = self.lines.made

    # Steps

    def is_marked(self, step):
        """Tell whether a step is marked."""
        return not step & (step - 1) or (self.marks is not None and self.marks[0] <= step <= self.marks[1])

    def passed(self, unit, step, parts):
        """Mark a step, where it is to be, and begin or end to record at it; `parts` returns what is digested."""
        if self.is_done:
            return
        ends = unit == self.unit and step == self.last
        if ends and self.is_recording:
            self.stop()
        if ends or self.is_marked(step):
            self.write({"e": "mark", "unit": unit, "step": step, "parts": self.attempt(parts) or {}})
            self.flush()
        if ends:
            self.finish()
        elif unit == self.unit and step == self.first:
            self.record()
        elif unit == self.unit and step == 0 and not self.is_recording and self.lines is not None:
            self.attempt(self.lines.stop)

    def tick(self, iteration):
        """Pass an iteration of the main loop."""
        self.passed("iteration", iteration, lambda: variables(self))

    # Recording

    def record(self):
        """Record operations and lines from here on."""
        self.is_recording = True
        for recorder in self.recorders:
            self.attempt(recorder.begin)

    def stop(self):
        """Record no more."""
        self.is_recording = False
        for recorder in self.recorders:
            self.attempt(recorder.stop)

    def finish(self):
        """Tell that all that was asked for is written: the program may be ended."""
        self.is_done = True
        self.write({"e": "done"})
        self.flush()

    def end(self):
        """Mark the end of the program, and write what is not written yet."""
        if self.is_recording:
            self.stop()
        if not self.is_done:
            for finish in self.finishing:
                self.attempt(finish)
            self.finish()

    def attempt(self, function, *args):
        """Return what a function returns; a failure is noted, and ends nothing."""
        try:
            return function(*args)
        except Exception as error:
            self.process.events.note("not-compared", repr(error), str(function))
            return None

    # Records

    def write(self, record):
        """Add a record; return its number."""
        number = record["n"] = self.number
        self.number = number + 1
        self.buffer.append(record)
        if len(self.buffer) >= BUFFERED:
            self.flush()
        return number

    def flush(self):
        """Append the records to the file."""
        if not self.buffer:
            return
        if self.path is None:
            self.path = own_path(self.process.config["records"], "diverge", own_stem(), "jsonl")
            streams = self.process.streams
            lineage = [str(each) for each in streams.lineage] if streams is not None else []
            self.buffer.insert(0, {"e": "process", "n": -1, "lineage": lineage})
        # In one call; within a text no quote stands without a stroke before it.
        data = encoded(self.buffer)[1:-1].replace('}, {"e": "', '}\n{"e": "') + "\n"
        self.buffer = []
        use_file(self.path, APPENDING, lambda descriptor: write_all(descriptor, data.encode("utf-8", "replace")))


def write_all(descriptor, data):
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
