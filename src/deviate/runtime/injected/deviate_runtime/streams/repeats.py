"""Random numbers that come again within one run: a seed that is set again, a shuffle or a pass in the order of another.

A generator's state never comes again by drawing. Where it does in a later iteration, and the program draws from it both
times, the numbers are the same. A seed that is set on purpose for a part that ends with the former state (an evaluation
within ``fork_rng``) repeats nothing beyond that part, and is not reported.
"""

import sys

from .generators import Made
from .seeds import program_frame, text_of

#: Seeds, by line and value, that are followed, how often each is, and shuffles and passes that are remembered.
FOLLOWED, OCCASIONS, REMEMBERED = 32, 8, 256

#: Fewer examples may come in the same order by chance.
FEWEST_EXAMPLES = 10


class Repeats:
    """What comes again in one process.

    Attributes
    ----------
    open : list
        What is looked at when the next iteration begins.
    weights : object, optional
        Counts the updates of weights in `steps`, as long as it has its `handle`; a class attribute, as it stays for
        children.
    """

    weights = None

    def __init__(self, streams):
        self.streams = streams
        streams.fingerprints.content_sources.append(self)
        self.forget()

    def forget(self):
        """Begin anew in a child process."""
        self.open = []
        self.seeds = {}
        self.shuffles = {}
        self.passes = {}
        self.written = set()

    def attempt(self, look, *args):
        """Look at what there is; what goes wrong, or goes on in other threads, is no evidence."""
        try:
            if self.streams.is_first_thread():
                look(*args)
        except Exception as error:
            self.open = []
            self.streams.process.events.note("repeats-unseen", repr(error), "repeats")

    # Seeds that the program sets again

    def end(self, generators):
        """Look once more at generators that are about to be seeded."""
        ended = [each for each in self.open if each.is_of(generators)]
        self.open = [each for each in self.open if each not in ended]
        for occasion in ended:
            occasion.finish(self)

    def begin(self, seeded, seed, generators, frame):
        """Follow generators that a line of the program has just seeded."""
        if seed is None:
            return
        key = seeded["call"], seeded["file"], seeded["line"], text_of(seed)
        if key not in self.seeds and len(self.seeds) < FOLLOWED:
            self.seeds[key] = Followed(seeded)
        followed = self.seeds.get(key)
        if followed is not None and followed.left:
            followed.left -= 1
            self.open.append(Occasion(self, followed, generators, frame))

    def drop(self, generator):
        """Leave a generator alone: it goes on from a state that the program had kept."""
        self.open = [each for each in self.open if not each.is_of([generator])]

    def rebase(self, generator, factor, mark):
        """Let draws count from here on: what a library drew or seeded for itself is none."""
        for occasion in self.open:
            if occasion.is_of([generator]):
                occasion.rebase(self.slot(generator, factor), mark)

    def slot(self, generator, factor):
        """Return what a state is known by."""
        return generator, factor if self.streams.controls else None

    def marks(self, generators):
        """Return the mark of each factor's state of some generators."""
        mark, slot = self.streams.fingerprints.mark, self.slot
        alive = [each for each in generators if not (isinstance(each, Made) and each.item() is None)]
        return {slot(each, factor): mark(each, factor) for each in alive for factor in self.factors(each)}

    def factors(self, generator):
        """Return the factors that have a state."""
        return {generator.at, *generator.states} if self.streams.controls else (self.streams.current,)

    def fresh(self, slot):
        """Return the mark that a state had when its generator was seeded."""
        generator, factor = slot
        return generator.mark(generator.fresh(self.streams.seed(factor, generator.key)))

    # Orders

    def shuffled(self, generator, mark):
        """Take down which state a generator has come to by a shuffle."""
        is_known = generator.seeded is not None and self.streams.process.iteration >= 0
        if is_known and len(self.open) + len(self.shuffles) < REMEMBERED:
            self.open.append(Shuffle(self, generator, mark, sys._getframe(1)))

    def passed(self, order, key, digest, examples, frame):
        """Compare a pass over examples with the one before it."""
        if not order.is_training or examples < FEWEST_EXAMPLES or self.is_idle(order.updates):
            return
        order.is_compared = True
        known, passes = self.passes.get(key, (None, 0))
        passes = passes + 1 if known == digest else 1
        if len(self.passes) < REMEMBERED:
            self.passes[key] = digest, passes
        frame = program_frame(self.streams, frame)
        if passes > 1 and not passes & (passes - 1) and frame is not None:
            line = self.streams.callers.line(frame)
            self.write(dict(line, kind="order", call=order.sampler, passes=passes, examples=examples))

    # Updates

    def updates(self):
        """Return how often weights were updated; None where that is not known."""
        weights = self.weights
        return weights.steps if weights is not None and weights.handle is not None and weights.steps else None

    def is_idle(self, before):
        """Tell whether nothing is known to have been trained since there had been so many updates."""
        now = self.updates()
        return now is not None and now == (before or 0) and not self.weights.is_full

    def functions(self, frame):
        """Return what the program calls the functions that it is in, where no updates tell what is a training."""
        named = []
        while frame is not None and self.updates() is None:
            if self.streams.callers.is_program(frame):
                named.append(frame.f_code.co_name)
            frame = frame.f_back
        return named

    # Iterations

    def tick(self):
        """Look at what is open, as an iteration begins."""
        self.attempt(self.look)

    def look(self):
        """Have each look, and keep those that are to look again."""
        self.open = [each for each in self.open if each.tick(self)]

    def write_seed(self, seeded, one, other, **more):
        """Write that two iterations drew the same, each a pair with the entry into the main loop that it is of."""
        iterations, entries = zip(one, other)  # noqa: B905
        self.write(dict(seeded, kind="seed", iterations=iterations, entries=entries, **more))

    def write(self, event):
        """Write what comes again; of one line and call once, but for longer series."""
        key = event["kind"], event["call"], event["file"], event["line"], event.get("passes"), event.get("within")
        if key not in self.written and self.streams.is_reporting():
            self.written.add(key)
            self.streams.process.events.write(dict(event, event="again"))


class Followed:
    """A line that seeds with one value.

    Attributes
    ----------
    left : int
        How often it is still followed.
    after, within : dict
        Where draws began from a state at the begin of an iteration, by the state; and in the iteration that seeded.
    """

    __slots__ = ("seeded", "left", "after", "within")

    def __init__(self, seeded):
        self.seeded = seeded
        self.left = OCCASIONS
        self.after = {}
        self.within = {}

    def prove(self, repeats, known, key, now, **more):
        """Take down that numbers are drawn in a place, and write it if another one had the same."""
        before = known.setdefault(key, now)
        if before != now:
            repeats.write_seed(self.seeded, before, now, **more)
            # What comes again in the iteration that seeds may be an evaluation; what does in others is none.
            self.left = self.left if more["within"] else 0


class Occasion:
    """One time that a line seeded."""

    __slots__ = ("followed", "functions", "generators", "iteration", "updates", "fresh", "start", "place")

    def __init__(self, repeats, followed, generators, frame):
        self.followed = followed
        self.generators = list(generators)
        self.iteration = repeats.streams.process.iteration
        self.functions = repeats.functions(frame) if self.iteration >= 0 else []
        self.updates = repeats.updates()
        #: States just after it, and as the next iteration began; None until then.
        self.fresh = repeats.marks(self.generators)
        self.start = None
        self.place = None

    def is_of(self, generators):
        """Tell whether it is of one of these generators."""
        return any(each in self.generators for each in generators)

    def rebase(self, slot, mark):
        """Let the draws of a state count from a mark on."""
        (self.fresh if self.start is None else self.start)[slot] = mark

    def tick(self, repeats):
        """Look as an iteration begins; tell whether there is more to see."""
        if self.start is not None:
            self.finish(repeats)
            return False
        process = repeats.streams.process
        self.place = process.iteration, process.entries
        self.start = repeats.marks(self.generators)
        if self.iteration >= 0 and not repeats.is_idle(self.updates):
            for slot, mark in self.start.items():
                if mark != (self.fresh[slot] if slot in self.fresh else repeats.fresh(slot)):
                    place, more = (self.iteration, process.entries), {"within": True, "functions": self.functions}
                    self.followed.prove(repeats, self.followed.within, self.name(slot), place, **more)
        return True

    def finish(self, repeats):
        """Look at what was drawn since an iteration began."""
        if self.start is None:
            return
        for slot, end in repeats.marks(self.generators).items():
            known = self.start if slot in self.start else self.fresh  # a mark may be 0, and TensorFlow's always is
            mark = known[slot] if slot in known else repeats.fresh(slot)
            if end != mark:
                key, more = (*self.name(slot), mark), {"within": False, "functions": []}
                self.followed.prove(repeats, self.followed.after, key, self.place, **more)

    def name(self, slot):
        """Return what a state is called in any occasion."""
        return self.generators.index(slot[0]), slot[1]


class Shuffle:
    """A shuffle by a generator that was seeded."""

    __slots__ = ("functions", "seeded", "key", "place", "updates")

    def __init__(self, repeats, generator, mark, frame):
        process = repeats.streams.process
        self.seeded = generator.seeded
        self.key = self.seeded["call"], self.seeded["file"], self.seeded["line"], generator.name, mark
        self.place = process.iteration, process.entries
        self.functions = repeats.functions(frame)
        self.updates = repeats.updates()

    def is_of(self, generators):
        """Tell that it has been seen, whatever a generator does now."""
        return False

    def tick(self, repeats):
        """Compare it with earlier ones once it is known that something was trained in that order."""
        known = repeats.shuffles
        if not repeats.is_idle(self.updates) and (self.key in known or len(known) < REMEMBERED):
            before = known.setdefault(self.key, self.place)
            if before[0] != self.place[0]:
                repeats.write_seed(self.seeded, before, self.place, within=True, functions=self.functions)
        return False
