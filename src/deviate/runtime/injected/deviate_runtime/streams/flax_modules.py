"""Modules of Flax: what they draw from other libraries as they are made, initialised and applied."""

from .libraries import INIT, bound_method
from .streams import LAYERS, OTHER


def attend(module, streams):
    """Attend to ``flax.linen.module`` or ``flax.nnx.module``."""
    if module.__name__.startswith("flax.linen"):
        for name in ("init", "init_with_output", "lazy_init"):
            bound_method(streams, module.Module, name, INIT, over=(OTHER, LAYERS))
        bound_method(streams, module.Module, "apply", LAYERS, over=(OTHER, INIT))
    else:
        meta = type(module.Module)
        if vars(meta).get("__call__") is None:
            inherited = meta.__call__
            meta.__call__ = lambda cls, *args, **kwargs: inherited(cls, *args, **kwargs)
        bound_method(streams, meta, "__call__", INIT)
