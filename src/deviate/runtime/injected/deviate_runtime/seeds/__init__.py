"""Derive every seed of the program from the run's seed.

Each library is seeded once it is imported. Where the program seeds a library itself, the value it gives is replaced by
one derived from the run's seed and that value: equal values give equal seeds, so that seeding again to repeat the same
draws still repeats them. What a library computes for itself (the seeds of data-loading workers) is left alone.

Not covered: `random.SystemRandom`, `secrets`, `uuid`, `os.urandom`; seeds given to NumPy's `SeedSequence` and bit
generators; random states of scikit-learn given as int, which mostly split data.
"""

#: What attends to which module after its import. A part is loaded only then: most programs need few.
PARTS = (
    ("multiprocessing.process", "processes"),
    ("random", "python_random"),
    ("numpy.random", "numpy_random"),
    ("torch", "torch_random"),
    ("jax.random", "jax_random"),
    ("tensorflow", "tensorflow_random"),
    ("keras", "keras_random"),
    ("tf_keras", "keras_random"),
    ("gymnasium.utils.seeding", "simulators"),
    ("gym.utils.seeding", "simulators"),
)


def attentions(process):
    """Return what to do after which import, as triples of a module's name, a part of this package and its argument."""
    process.seeds = None
    if process.config.get("seed") is None:
        return []
    from .derive import Seeds

    process.seeds = Seeds(process)
    return [(name, __name__ + "." + part, process.seeds) for name, part in PARTS]
