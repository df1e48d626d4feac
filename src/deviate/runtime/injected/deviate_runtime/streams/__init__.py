"""Give every factor of nondeterminism random numbers of its own, in a program that knows nothing of it.

A factor is a purpose for which a training draws: ``init`` (parameters), ``shuffle`` (order of the data), ``augment``
(data transformations), ``layers`` (dropout and other stochastic layers), ``data`` (draws that make or split the data
set), ``other`` (the rest). Every generator has one state per factor; the boundaries at which a program goes from one
purpose to another (module construction, samplers, fetches, a model's forward) switch all generators to that factor's
states. Seeds that the program sets are replaced by ones derived from the factor's and the one given, so that seeding
again to repeat the same draws still repeats them.

What this package is told (``control`` of ``runtime.json``): ``streams``, as above; ``observe``, nothing is replaced or
switched, only told; nothing at all.

Not covered: `random.SystemRandom`, `secrets`, `uuid`, `os.urandom`; bit generators of NumPy that no generator wraps.
"""

#: What attends to which module after its import. A part is loaded only then: most programs need few.
PARTS = (
    ("multiprocessing.process", "processes"),
    ("random", "python_random"),
    ("numpy.random", "numpy_random"),
    ("torch", "torch_random"),
    ("torch", "torch_modules"),
    ("torch", "torch_weights"),
    ("torch.utils.data", "torch_data"),
    ("torch._dynamo.trace_rules", "torch_compiler"),
    ("torch._dynamo.skipfiles", "torch_compiler"),
    ("accelerate.utils.random", "accelerate_random"),
    ("accelerate.data_loader", "accelerate_random"),
    ("rich.style", "imports"),
    ("sympy", "imports"),
    ("jax", "imports"),
    ("keras", "imports"),
    ("jax.random", "jax_random"),
    ("jax.nn.initializers", "jax_initializers"),
    ("flax.core.scope", "flax_scopes"),
    ("flax.linen.module", "flax_modules"),
    ("flax.nnx.rnglib", "flax_streams"),
    ("flax.nnx.module", "flax_modules"),
    ("haiku._src.transform", "jax_haiku"),
    ("optax._src.base", "jax_weights"),
    ("sklearn.utils.validation", "sklearn_random"),
    ("sklearn.utils", "sklearn_random"),
    ("sklearn.datasets", "sklearn_random"),
    ("sklearn.model_selection", "sklearn_random"),
    ("tensorflow", "tensorflow_random"),
    ("keras.src.random.seed_generator", "keras_random"),
    ("keras.src.utils.rng_utils", "keras_seeding"),
    ("keras.src.initializers.random_initializers", "keras_initializers"),
    ("keras.src.layers.layer", "keras_layers"),
    ("keras.src.backend.common.variables", "keras_layers"),
    ("keras.src.trainers.data_adapters.array_data_adapter", "keras_layers"),
    ("keras.src.trainers.data_adapters.py_dataset_adapter", "keras_layers"),
    ("keras.src.utils.dataset_utils", "keras_layers"),
    ("keras.src.utils.image_dataset_utils", "keras_layers"),
    ("keras.src.utils.text_dataset_utils", "keras_layers"),
    ("keras.src.optimizers.base_optimizer", "keras_weights"),
    ("tf_keras.src.backend", "keras_legacy"),
    ("tf_keras.src.engine.base_layer", "keras_legacy"),
    ("tf_keras.src.engine.data_adapter", "keras_legacy"),
    ("tf_keras.src.utils.tf_utils", "keras_legacy"),
    ("tf_keras.src.optimizers.optimizer", "keras_weights"),
    ("gymnasium.utils.seeding", "simulators"),
    ("gym.utils.seeding", "simulators"),
)


def start(process):
    """Return the streams of this process, None where the program's random numbers are left alone."""
    if process.config.get("control") is None:
        return None
    from .streams import Streams

    return Streams(process)


def attentions(process):
    """Return what to do after which import, as triples of a module's name, a part of this package and its argument."""
    if process.streams is None:
        return []
    return [(name, __name__ + "." + part, process.streams) for name, part in PARTS]
