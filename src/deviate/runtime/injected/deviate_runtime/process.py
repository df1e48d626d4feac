"""What the runtime knows about the process it is in."""

import atexit
import json
import os
import sys
import time

from . import children, diverging, opened, watch
from .files import Events
from .given import Given, give_to_loaders, program_words, watch_script
from .records import Records
from .weights import Weights
from .wraps import install

#: The first entries of the main loop, each of which is written down; of later ones, each power of two.
ENTRIES_WRITTEN = 32

#: The first iterations of the main loop, after each of which it is looked for draws that are not written yet; of later
#: ones, each power of two.
FLUSHED = 256

#: What launchers of distributed trainings say the rank of a process in.
RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK")

#: Iterations of the main loop at whose start the rank is read; a training is distributed before its loop or never.
RANK_READS = 3


class Process:
    """One process of a run, with the files it appends to.

    Attributes
    ----------
    iteration : int
        Index of the main loop's iteration; -1 before it.
    started : float
        `time.perf_counter` when the runtime started, or when this process was forked.
    """

    __slots__ = (
        "children", "config", "counts_source_loop", "diverging", "entries", "events", "forked", "forks", "given",
        "is_entering", "is_warm", "iteration", "left_to_children", "opened", "predictions", "rank", "recorder",
        "records", "reports", "runtime_file", "started", "streams", "weights",
    )  # fmt: skip

    def __init__(self, config):
        self.config = config
        self.events = Events(config["records"], self.describe)
        self.records = Records(config["records"], self)
        self.given = Given(config, self.events)
        self.iteration = -1
        #: None where the program's random numbers are left alone.
        self.streams = None
        #: None where nothing that models predict is captured.
        self.predictions = None
        self.weights = Weights(self)
        #: None where it is not looked from which lines the program prints.
        self.reports = None
        self.started = time.perf_counter()
        self.rank = rank_of_environment(os.environ)
        #: Children forked so far: a number that identifies each of them, the same in every run.
        self.forks = 0
        self.forked = False
        #: True where children that are forked are runs of their own, see `warm`.
        self.is_warm = False
        #: What is done in each of them, and not before.
        self.left_to_children = []
        #: What the programs that it starts need to find: see `children`.
        self.runtime_file = os.environ.get("DEVIATE_RUNTIME")
        self.children = None
        #: None where nobody asks where two runs part.
        self.diverging = None
        #: None where nobody tells which files are opened.
        self.opened = None
        #: True once a loop in the source counted; from then on no framework's loop does.
        self.counts_source_loop = False
        #: Times that the main loop was entered, and whether the next iteration is the first of another time.
        self.entries = 0
        self.is_entering = True

    @classmethod
    def from_file(cls, path):
        """Read ``runtime.json``."""
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        config.setdefault("metrics", [])
        return cls(config)

    def begin(self):
        """Write that the process started, make known what instrumented code calls, give it and watch imports."""
        self.events.begin()
        opened.watch(self)
        children.watch(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.before_fork, after_in_child=self.after_fork)
        if self.config.get("control") is not None:
            from .streams.streams import Streams

            self.streams = Streams(self)
            if self.config.get("explain"):
                from .streams.callers import Explainer

                self.streams.explainer = Explainer(self.streams, self.config["explain"])
        if self.streams is not None and self.config.get("predictions") not in (None, "none"):
            from .predictions.capture import Predictions

            self.predictions = Predictions(self)
        self.diverging = diverging.start(self)
        install(self)
        watch.install(self)
        give_to_loaders(self)
        watch_script(self.given)
        if self.given.files:
            from .compilers import watch_tools

            watch_tools(self)
        if os.environ.get("DEVIATE_FIXED"):
            from .fixing import fix

            fix(self)
        if os.environ.get("DEVIATE_RESUME"):
            from .resuming import begin

            begin(self)
        atexit.register(self.end)
        if self.diverging is not None:
            self.diverging.begin()

    def after_modules(self, torch):
        """Return what is called after the outermost call of a module of PyTorch's, with all it was called with."""
        if self.predictions is None:
            return lambda module, args, kwargs, returned: None
        from .predictions.torch import Models

        return Models(torch, self.predictions).look

    def after_layers(self):
        """Return what is called after the outermost call of a layer of Keras, and with what enters a dense layer.

        They are None where nothing is captured.
        """
        if self.predictions is None:
            return None, None
        from .predictions.keras import keras_of

        keras = keras_of(self)
        return keras.called, None if self.predictions.last_input is None else keras.see

    def describe(self):
        """Return the start event."""
        return {
            "event": "start",
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "python": "%d.%d.%d" % sys.version_info[:3],
            "executable": sys.executable,
            "argv": program_words(),
            "rank": self.rank,
            "time": time.time(),
        }

    def before_fork(self):
        """Count the child that is about to be made."""
        self.forks += not self.is_warm

    def after_fork(self):
        """Give a forked child files of its own, made when it has something to write."""
        if self.is_warm:
            return
        self.events.leave_to_parent()
        self.records.forget()
        self.recorder.names.forget()
        if self.reports is not None:
            self.reports.forget()
        if self.predictions is not None:
            self.predictions.forget()
        self.weights.forget()
        self.children.count = 0
        if self.opened is not None:
            self.opened.forget()
        self.started = time.perf_counter()
        self.entries = 0
        self.forked = True

    def adopt(self, config):
        """Be the first process of another run than the one that the runtime was started for, which has done nothing.

        What was noted while libraries were imported is written into the files of this run. Whatever keeps a folder, a
        path or a seed is given that of this run.
        """
        noted = self.events.later()
        self.config.clear()
        self.config.update(dict({"metrics": []}, **config))
        self.runtime_file = os.environ.get("DEVIATE_RUNTIME")
        if self.opened is not None:
            self.opened.forget()
        self.events.move(config["records"])
        self.records = Records(config["records"], self)
        self.given = Given(self.config, self.events)
        if self.streams is not None:
            self.streams.adopt(self.config)
        if self.predictions is not None:
            self.predictions.adopt(self.config)
        self.started = time.perf_counter()
        self.is_warm = False
        self.events.begin()
        for do in self.left_to_children:
            do()
        for line in noted:
            self.events.append_line(line)
        install(self)
        watch.redirect(self.config)
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is not None:
            from .compilers import leave_out_of_graphs

            leave_out_of_graphs(dynamo, self)

    def tick(self, item=None):
        """Count an iteration of the main loop, which goes on with `item`."""
        if self.predictions is not None:
            self.predictions.tick()
        self.weights.tick(self.iteration)
        self.iteration += 1
        if self.is_entering:
            self.enter(item)
        if self.rank is None and self.iteration < RANK_READS:
            self.learn_rank()
        if self.opened is not None and not self.iteration & (self.iteration - 1):
            self.opened.tick(self.iteration)
        if self.diverging is not None:
            self.diverging.tick(self.iteration)
        if self.streams is not None and self.streams.repeats.open:
            self.streams.repeats.tick()
        seldom = not self.iteration & (self.iteration - 1)
        if self.streams is not None and seldom:
            self.streams.fingerprints.look()
        # What draws late (a replay memory once it is full) is written before the process may be killed.
        if self.streams is not None and (seldom or self.iteration < FLUSHED) and self.iteration > 0:
            self.streams.fingerprints.flush()

    def enter(self, item):
        """Write that the main loop was entered, and with which number it begins; of very many times, seldom."""
        self.is_entering = False
        self.entries += 1
        if self.entries > ENTRIES_WRITTEN and self.entries & (self.entries - 1):
            return
        if type(item) is tuple and item:
            item = item[0]  # of `enumerate`
        self.events.write({"event": "loop", "number": self.entries, "item": item if type(item) is int else None})

    def learn_rank(self):
        """Read the rank, which the process may have got since it started."""
        try:
            self.rank = rank_of_libraries(sys.modules)
        except Exception as error:
            self.events.note("rank-unknown", repr(error), "rank")
        if self.rank is not None:
            self.events.write({"event": "rank", "rank": self.rank})

    def leave(self):
        """Write what is known before another program takes the place of this one."""
        if self.opened is not None:
            self.opened.write()

    def end(self):
        """Write at the interpreter's normal end what was loaded, and that it ended."""
        if not self.events.begun:
            return
        try:
            from .environment import describe_environment

            if self.rank is None:
                self.learn_rank()
            self.records.finish()
            if self.opened is not None:
                self.opened.finish()
            if self.reports is not None:
                self.reports.write()
            if self.predictions is not None:
                self.predictions.finish()
            if self.streams is not None:
                self.streams.fingerprints.finish()
            self.events.write(describe_environment(sys.modules))
        except Exception as error:
            self.events.note("environment-unreadable", repr(error))
        self.events.write({"event": "end", "reason": "exit"})


def rank_of_environment(environment):
    """Return the rank a launcher gave, None where there is none."""
    for variable in RANK_VARIABLES:
        text = environment.get(variable, "")
        if text.isdigit():
            return int(text)
    return None


def rank_of_libraries(modules):
    """Return the rank that a loaded library knows, without making it start anything."""
    distributed = modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    jax_distributed = modules.get("jax._src.distributed")
    state = getattr(jax_distributed, "global_state", None)
    if state is not None and getattr(state, "client", None) is not None:
        return state.process_id
    return None
