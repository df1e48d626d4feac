"""Weights of PyTorch models: their digest before the first update and at the end, and one bit of them changed.

They are reached through optimizers, which hold what is trained. Nothing else is read: where a program updates
weights by hand, the draws of ``init`` stand for them.
"""

import sys
import weakref
import zlib

from ...patching import replaces
from ...weights import Tensor
from ..seeds import mix
from .data import tensor_bytes

#: Of more elements than this, only every n-th is read, so that this number is not exceeded; tensors of fewer elements
#: than `WHOLE` are read whole.
MAX_ELEMENTS = 100000000
WHOLE = 65536

#: Elements that are copied from a device at once: what little memory it has left is the program's.
CHUNK = 16000000

#: Optimizers whose weights are read; a search over many models has more.
OPTIMIZERS = 64

#: Updates in which a further optimizer may show up.
STEPS = 10000


def watch_optimizers(torch, streams):
    """Look at the weights before each optimizer's first step."""
    # torch.optim keeps no name for it
    optim = sys.modules["torch.optim.optimizer"]
    weights = streams.repeats.weights = Weights(torch, streams)
    if hasattr(optim, "register_optimizer_step_pre_hook"):
        weights.handle = optim.register_optimizer_step_pre_hook(weights.before_step)
    else:
        wrap_steps(optim.Optimizer, weights)


def wrap_steps(Optimizer, weights):
    """Do without hooks of torch: wrap the step of each optimizer that is made."""
    plain = Optimizer.__init__

    @replaces(Optimizer, "__init__")
    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)

        @replaces(self, "step")
        def first_step(*args, **kwargs):
            del self.step
            weights.before_step(self, args, kwargs)
            return self.step(*args, **kwargs)


class Weights:
    """The weights of one process.

    Attributes
    ----------
    known : set
        Optimizers that were seen, by identity.
    is_shared : bool
        Whether other processes may have begun to update the weights: the draws of ``init`` stand for those at first.
    ends : dict
        Digest of the weights that each optimizer left, by its number.
    names : dict
        By number of an optimizer, the names of its parameters by their identities: a function that trains may let its
        model go before its optimizer.
    """

    def __init__(self, torch, streams):
        self.torch = torch
        self.streams = streams
        self.handle = None
        streams.fingerprints.content_sources.append(self)
        self.before_step = self.make_hook()
        self.forget()

    def forget(self):
        """Begin anew; what a forked child inherits is its parent's."""
        self.known = set()
        self.steps = 0
        self.number = 0
        self.digest = 0
        self.is_shared = False
        self.ends = {}
        self.names = {}
        for gone in getattr(self, "alive", {}).values():
            gone.detach()
        self.alive = {}

    @property
    def is_full(self):
        """Whether no more updates are counted."""
        return self.steps >= STEPS

    def make_hook(self):
        """Return the function that is called before each step."""

        def before_step(optimizer, args, kwargs):
            self.steps += 1
            if id(optimizer) not in self.known:
                try:
                    self.add(optimizer)
                except Exception as error:
                    self.streams.process.events.note("weights-unread", repr(error), "weights")
            if self.handle is not None and self.steps >= STEPS:
                self.handle.remove()

        before_step._torchdynamo_disable = True
        return before_step

    def add(self, optimizer):
        """Look at the weights that an optimizer is about to update for the first time."""
        self.known.add(id(optimizer))
        if len(self.known) > OPTIMIZERS:
            return
        number = self.number = self.number + 1
        groups = optimizer.param_groups
        self.is_shared = self.is_shared or is_shared(groups)
        if not self.is_shared:
            self.digest = joined(self.digest, digest_of(self.torch, groups))
        fingerprints = self.streams.fingerprints
        if number == 1:
            fingerprints.at_end.append(self.finish)
            self.streams.process.weights.at_iteration.append(self.keep_iteration)
        if not self.is_shared:
            fingerprints.write_content("init", self.digest, number, "first")
        if number == 1 and self.streams.process.config.get("bit") is not None:
            flip(self.torch, groups, self.streams.process)
        # What an optimizer holds lives as long as it does, here as without this.
        gone = weakref.finalize(optimizer, self.leave, number, id(optimizer), groups)
        gone.atexit = False
        self.alive[number] = gone
        if self.streams.process.weights.is_kept:
            self.learn_names(number, groups)

    def leave(self, number, identity, groups):
        """Look at the weights that an optimizer leaves."""
        self.known.discard(identity)
        self.alive.pop(number, None)
        weights = self.streams.process.weights
        try:
            if weights.takes_digests:
                self.ends[number] = digest_of(self.torch, groups)
            if weights.is_kept:
                weights.write("torch-%d" % number, self.named(number, groups))
            self.names.pop(number, None)
        except Exception as error:
            self.streams.process.events.note("weights-unread", repr(error), "weights")

    def keep_iteration(self, iteration):
        """Write the weights as they are after an iteration."""
        for number, gone in list(self.alive.items()):
            kept = gone.peek()
            try:
                if kept is not None:
                    self.streams.process.weights.write("torch-%d" % number, self.named(number, kept[2][2]), iteration)
            except Exception as error:
                self.streams.process.events.note("weights-unread", repr(error), "weights")

    def learn_names(self, number, groups):
        """Return the names that models have for the parameters of an optimizer, those known before among them."""
        own = {id(parameter) for group in groups for parameter in group["params"]}
        names = self.names.setdefault(number, {})
        for model in self.streams.models.values():
            alive = model()
            for name, parameter in alive.named_parameters() if alive is not None else ():
                if id(parameter) in own:
                    names.setdefault(id(parameter), name)
        return names

    def named(self, number, groups):
        """Return the tensors of an optimizer by the names that the models have for them, else by their place."""
        names = self.learn_names(number, groups)
        return [
            as_tensor(names.get(id(parameter), "%d.%d" % (index, position)), local(parameter))
            for index, group in enumerate(groups)
            for position, parameter in enumerate(group["params"])
            if parameter.device.type != "meta"
        ]

    def finish(self):
        """Write what the process ends with."""
        for gone in list(self.alive.values()):
            # Called itself, it would do nothing as late as this.
            kept = gone.detach()
            if kept is not None:
                self.leave(*kept[2])
        digest = 0
        for end in self.ends.values():
            digest = joined(digest, end)
        fingerprints = self.streams.fingerprints
        if not self.is_shared:
            fingerprints.write_content("init", self.digest, self.number, "end")
        if self.ends:
            fingerprints.write_content("weights", digest, self.number, "end")


def joined(digest, more):
    """Take the digest of one optimizer into that of all, whatever their order: each may hold one member of a set."""
    return (digest + zlib.crc32(b"%d" % more)) & 0xFFFFFFFF


def is_shared(groups):
    """Tell whether parameters are in memory that several processes update, each at its own time."""
    parameters = (parameter for group in groups for parameter in group["params"])
    return any(parameter.device.type == "cpu" and parameter.is_shared() for parameter in parameters)


def digest_of(torch, groups):
    """Return the digest of all parameters, in the order of their groups."""
    tensors = [local(parameter) for group in groups for parameter in group["params"]]
    total = sum(tensor.numel() for tensor in tensors)
    stride = -(-total // MAX_ELEMENTS)
    digest = 0
    for tensor in on_cpu(torch, tensors, stride):
        digest = zlib.crc32(tensor_bytes(tensor, 1 << 62), digest)
    return digest


def as_tensor(name, tensor):
    """Return a tensor that is to be written."""
    size = tensor.numel() * tensor.element_size()
    dtype = str(tensor.dtype).partition(".")[2]
    return Tensor(name, dtype, tuple(tensor.shape), size, lambda: tensor_bytes(tensor.cpu(), 1 << 62))


def local(parameter):
    """Return the part of a parameter that is in this process."""
    tensor = parameter.detach()
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def on_cpu(torch, tensors, stride):
    """Yield tensors on the CPU; those of a device come in few copies, which wait for it."""
    tensors = [tensor for tensor in tensors if tensor.device.type != "meta"]
    if stride > 1:
        tensors = [tensor if tensor.numel() < WHOLE else tensor.reshape(-1)[::stride] for tensor in tensors]
    kinds = {}
    for tensor in tensors:
        if tensor.device.type == "cpu":
            yield tensor
            continue
        same = kinds.setdefault((str(tensor.device), str(tensor.dtype)), [])
        same.append(tensor.reshape(-1))
        if sum(map(len, same)) > CHUNK:
            yield torch.cat(same).cpu()
            same.clear()
    for same in kinds.values():
        if same:
            yield torch.cat(same).cpu()


def flip(torch, groups, process):
    """Move one weight by one unit in the last place."""
    seed = process.config["bit"]
    tensors = [local(parameter) for group in groups for parameter in group["params"]]
    tensors = [tensor for tensor in tensors if tensor.is_floating_point() and tensor.numel()]
    position = mix("bit", seed) % sum(tensor.numel() for tensor in tensors)
    number = 0
    while position >= tensors[number].numel():
        position -= tensors[number].numel()
        number += 1
    tensor = tensors[number]
    flat = tensor.reshape(-1) if tensor.is_contiguous() else tensor
    index = position if flat.dim() == 1 else tuple(unravel(position, tensor.shape))
    before = flat[index].clone()
    flat[index] = next_after(torch, before)
    process.events.write(
        {
            "event": "bit",
            "tensor": number,
            "shape": list(tensor.shape),
            "index": position,
            "before": float(before),
            "after": float(flat[index]),
        }
    )


def unravel(position, shape):
    """Return the indices, one for each dimension, of an element."""
    indices = []
    for size in reversed(shape):
        indices.append(position % size)
        position //= size
    return reversed(indices)


def next_after(torch, value):
    """Return the number that follows `value` away from zero."""
    if hasattr(torch, "nextafter") and value.dtype in (torch.float32, torch.float64):
        towards = torch.full_like(value, float("inf") if float(value) >= 0 else float("-inf"))
        return torch.nextafter(value, towards)
    # Half precision: its bits, read as an integer, count its values.
    return (value.view(torch.int16) + 1).view(value.dtype)
