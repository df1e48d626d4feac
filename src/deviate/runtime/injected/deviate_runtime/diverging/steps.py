"""The digests of a step: batch, loss, gradients, weights, state of the optimizer, and states of generators."""

import sys
import weakref

from ..patching import replaces


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
