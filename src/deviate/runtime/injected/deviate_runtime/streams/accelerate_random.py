"""Accelerate: it seeds samplers, and sends a state to all ranks, for the order of the data."""

SHUFFLE = "shuffle"

#: The function of each module that does so.
FUNCTIONS = {"accelerate.utils.random": "synchronize_rng_state", "accelerate.data_loader": "prepare_data_loader"}


def attend(module, streams):
    """Have that function draw for ``shuffle``."""
    name = FUNCTIONS[module.__name__]
    plain = getattr(module, name)
    if not hasattr(plain, "_deviate"):
        setattr(module, name, streams.within(SHUFFLE, plain))
