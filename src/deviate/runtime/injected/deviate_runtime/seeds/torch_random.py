"""PyTorch's default generators, and generators made by the program."""

import functools
import sys

#: Modules with seeding functions of their own, beside torch itself.
DEVICES = ("cuda", "mps", "xpu", "mtia")


def attend(torch, seeds):
    """Seed torch (devices once they start), and replace the seeds that the program gives."""
    if hasattr(torch.manual_seed, "_deviate"):
        return
    plain = torch.manual_seed
    replaced = wrap(plain, "torch.manual_seed", seeds)
    for module in (torch, torch.random):
        module.manual_seed = replaced
        module.seed = wrap_unseeded(module.seed, plain, seeds)
    for device in DEVICES:
        wrap_device(getattr(torch, device, None), device, seeds)
    torch.Generator = wrap_generator(torch.Generator, seeds)
    plain(seeds.start)


def wrap(plain, call, seeds):
    """Return `plain`, a function of a seed, with seeds of the program replaced."""

    @functools.wraps(plain)
    def manual_seed(seed):
        return plain(seeds.replace(call, seed, "torch"))

    manual_seed._deviate = True
    return manual_seed


def wrap_unseeded(plain, manual_seed, seeds):
    """Return ``torch.seed``, which draws a seed from the system, with a derived seed instead."""

    @functools.wraps(plain)
    def seed():
        used = seeds.replace("torch.seed", None, "torch")
        if used is None:
            return plain()
        manual_seed(used)
        return used

    return seed


def wrap_device(module, device, seeds):
    """Replace the seeds given to one kind of device."""
    inner = getattr(module, "random", None)
    for name in ("manual_seed", "manual_seed_all"):
        plain = getattr(module, name, None)
        if plain is not None:
            wrapped = wrap(plain, "torch.%s.%s" % (device, name), seeds)
            setattr(module, name, wrapped)
            if getattr(inner, name, None) is plain:
                setattr(inner, name, wrapped)


def wrap_generator(plain, seeds):
    """Return a subclass of ``torch.Generator`` whose ``manual_seed`` and ``seed`` are replaced.

    The class itself is of C and takes no new methods. A subclass passes for it in every call of torch.
    """

    class Stand(type(plain)):
        """Answers for the class of C: torch's own generators are instances of it too."""

        def __instancecheck__(cls, instance):
            return isinstance(instance, plain) if cls is Generator else type.__instancecheck__(cls, instance)

    class Generator(plain, metaclass=Stand):
        """A generator whose seeds derive from the run's."""

        def manual_seed(self, seed):
            return plain.manual_seed(self, seeds.replace("torch.Generator.manual_seed", seed, "torch.Generator"))

        def seed(self):
            used = seeds.replace("torch.Generator.seed", None, "torch.Generator")
            if used is None:
                return plain.seed(self)
            plain.manual_seed(self, used)
            return used

    # Pickled by this name, which leads back to it.
    Generator.__module__ = "torch"
    Generator.__qualname__ = "Generator"
    return Generator


def seed_again(seeds):
    """Seed torch in a child process that did not inherit its state."""
    torch = sys.modules.get("torch")
    if "torch" not in seeds.explicit and hasattr(getattr(torch, "manual_seed", None), "_deviate"):
        torch.manual_seed.__wrapped__(seeds.start)
