"""One record per framework: what the runtime does once a program has imported it.

To add a framework, add a record here and, where boundaries in a table do not suffice, a file or a folder to `streams`.
Nothing named here is imported before the program imports the module that the row begins with.
"""

from .factors import ALL_BUT_DATA, ALWAYS, AUGMENT, DATA, INIT, LAYERS, OTHER, OUTSIDE, SHUFFLE

#: Values of a switch that is a function: it is called, without an argument.
CALL = "call"

#: What a call of a method of a training loop stands for: an epoch of training begins; its first argument is the logs.
EPOCH, LOGS = "epoch", "logs"


class Framework:
    """What the runtime knows of one framework; each field but the name is a tuple of rows, by default empty.

    Attributes
    ----------
    name : str
    hooks : tuple
        ``(module, "file:function")``: the function of this package that is called after the import of a module.
        Functions of `streams` are called only where a program's draws are controlled or observed.
    boundaries : tuple
        ``(module, paths, factor, within)``: functions of `module` that draw for a factor, as paths that may end in
        ``*``. `within` are the factors that give way to it.
    epochs : tuple
        ``(module, path, EPOCH or LOGS)``: methods of a training loop that are observed.
    switches : tuple
        ``(module, path, value)``: what is set where the implementation is held fixed.
    packages, variables : tuple of str
        Packages whose versions, and environment variables that are recorded.
    seeded : tuple of str
        Packages whose own functions for seeding are replaced: what they call among themselves is not replaced again.
    seeding_files : tuple of str
        Library files that seed on the program's behalf in functions without "seed" in their name.
    keyed : tuple of str
        Beginnings of modules whose JAX keys have a factor's seed in them before they draw.
    private : tuple of str
        Packages that decide nothing by what they draw from the generators that they make as they are imported.
    """

    hooks = boundaries = epochs = switches = packages = variables = seeded = seeding_files = keyed = private = ()

    def __init__(self, name, **rows):
        self.name = name
        vars(self).update(rows)


FRAMEWORKS = (
    Framework(
        "python",
        hooks=(
            ("pkgutil", "given:give_to_runpy"),
            ("numba.core.bytecode", "compilers:give_authors_code"),
            ("multiprocessing.process", "streams.threads:patch_process"),
            ("random", "streams.python:patch_random"),
            ("threading", "streams.threads:patch_threading"),
            ("concurrent.futures.thread", "streams.threads:patch_executor"),
            ("multiprocessing.pool", "streams.threads:patch_pool"),
            # It draws as it is imported, from the shared generators.
            ("rich.style", "streams.callers:disregard_all_draws"),
        ),
        # It has an order of its own drawn in which it tries what it knows.
        private=("sympy",),
        variables=(
            *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED", "CUDA_VISIBLE_DEVICES"),
            "MKL_CBWR",
        ),
    ),
    Framework(
        "torch",
        hooks=(
            ("torch", "compilers:leave_traces_alone"),
            ("torch", "streams.torch.random:patch_torch"),
            ("torch", "streams.torch.modules:patch_modules"),
            ("torch", "streams.torch.weights:watch_optimizers"),
            ("torch", "switches:set_threads"),
            ("torch", "switches:hold_torch"),
            ("torch.utils.data", "predictions.torch:watch_loaders"),
            ("torch.utils.data", "streams.torch.data:patch_data"),
            ("torch._dynamo.trace_rules", "streams.torch.modules:skip_runtime"),
            ("torch._dynamo", "compilers:leave_out_of_graphs"),
            ("torch._dynamo.skipfiles", "streams.torch.modules:skip_runtime"),
        ),
        boundaries=(("torch", "nn.Module.apply", INIT, ALWAYS),),
        # torch.compile is not to choose kernels by the time they take.
        switches=(("torch._inductor.config", "deterministic", True),),
        packages=("torch", "torchvision", "torchaudio", "timm"),
        variables=(
            *("CUBLAS_WORKSPACE_CONFIG", "TORCHINDUCTOR_DETERMINISTIC", "FLASH_ATTENTION_DETERMINISTIC", "NCCL_ALGO"),
            *("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA"),
        ),
        seeded=("torch",),
        seeding_files=("torch/utils/data/distributed.py",),
    ),
    Framework(
        "numpy",
        hooks=(("numpy.random", "streams.numpy:patch_random"),),
        packages=("numpy", "scipy", "pandas"),
        seeded=("numpy",),
    ),
    Framework(
        "sklearn",
        hooks=(
            ("sklearn.utils.validation", "streams.libraries:patch_check"),
            ("sklearn.utils", "streams.libraries:patch_copies"),
            ("xgboost.training", "streams.libraries:patch_training"),
            ("lightgbm.engine", "streams.libraries:patch_training"),
            ("xgboost.callback", "trainers:observe_xgboost"),
            ("lightgbm.basic", "trainers:observe_lightgbm"),
            ("catboost.core", "trainers:observe_catboost"),
            ("sklearn.metrics", "predictions.metrics:watch_sklearn"),
            ("torchmetrics.metric", "predictions.metrics:watch_torchmetrics"),
            ("evaluate.module", "predictions.metrics:watch_evaluate"),
        ),
        boundaries=(
            ("sklearn.datasets", "make_* load_* fetch_*", DATA, OUTSIDE),
            ("sklearn.model_selection", "train_test_split", DATA, OUTSIDE),
        ),
        packages=("sklearn", "xgboost", "lightgbm"),
    ),
    Framework(
        "jax",
        hooks=(
            ("jax", "streams.callers:disregard_all_draws"),
            ("jax.random", "streams.jax.modules:patch_random"),
            ("jax.nn.initializers", "streams.jax.modules:patch_initializers"),
            ("jax", "streams.jax.modules:watch_training"),
            ("jax", "predictions.jax:watch_evaluations"),
            ("optax._src.base", "streams.jax.trained:watch_optimizers"),
            ("optax._src.update", "streams.jax.modules:watch_updates"),
        ),
        packages=("jax", "jaxlib"),
        variables=("XLA_FLAGS",),
        seeded=("jax",),
    ),
    Framework(
        "flax",
        hooks=(
            ("flax.core.scope", "streams.jax.modules:patch_scopes"),
            ("flax.nnx.rnglib", "streams.jax.modules:patch_nnx_streams"),
            ("flax.nnx.module", "streams.jax.modules:patch_nnx_modules"),
        ),
        boundaries=(
            ("flax.linen.module", "Module.init Module.init_with_output Module.lazy_init", INIT, (OTHER, LAYERS)),
            ("flax.linen.module", "Module.apply", LAYERS, (OTHER, INIT)),
        ),
        packages=("flax", "optax"),
        seeding_files=("flax/nnx/rnglib.py",),
        keyed=("flax.",),
    ),
    Framework(
        "haiku",
        hooks=(("haiku._src.transform", "streams.jax.modules:patch_haiku"),),
        packages=("haiku",),
        keyed=("haiku.",),
    ),
    Framework(
        "tensorflow",
        hooks=(
            ("tensorflow", "streams.tensorflow:patch_tensorflow"),
            ("tensorflow.python.eager.backprop", "predictions.keras:watch_tapes"),
            ("tensorflow.python.summary.writer.writer", "trainers:observe_summaries"),
        ),
        boundaries=(
            ("tensorflow", "random.shuffle", SHUFFLE, OUTSIDE),
            ("tensorflow", "nn.dropout nn.experimental.general_dropout", LAYERS, OUTSIDE),
            ("tensorflow", "image.random_* image.sample_distorted_bounding_box", AUGMENT, OUTSIDE),
            (
                "tensorflow.python.ops.init_ops_v2",
                "RandomUniform.__call__ RandomNormal.__call__ TruncatedNormal.__call__ VarianceScaling.__call__"
                " Orthogonal.__call__",
                INIT,
                ALL_BUT_DATA,
            ),
        ),
        switches=(("tensorflow", "config.experimental.enable_op_determinism", CALL),),
        packages=("tensorflow",),
        variables=("TF_DETERMINISTIC_OPS",),
        seeded=("tensorflow",),
    ),
    Framework(
        "keras",
        hooks=(
            ("keras", "streams.callers:disregard_all_draws"),
            ("keras.src.random.seed_generator", "streams.keras:patch_generators"),
            ("keras.src.utils.rng_utils", "streams.keras:patch_seeding"),
            ("keras.src.initializers.random_initializers", "streams.keras:patch_initializers"),
            ("keras.src.layers.layer", "streams.keras:patch_layer"),
            ("keras.src.trainers.data_adapters.array_data_adapter", "streams.keras:patch_arrays"),
            ("keras.src.trainers.data_adapters.py_dataset_adapter", "streams.keras:patch_sequences"),
            ("keras.src.optimizers.base_optimizer", "streams.keras:watch_optimizers"),
            ("keras.src.backend.tensorflow.trainer", "predictions.keras:watch_trainer"),
            ("keras.src.backend.jax.trainer", "predictions.keras:watch_trainer"),
            ("keras.src.backend.torch.trainer", "predictions.keras:watch_trainer"),
            ("keras.src.metrics.reduction_metrics", "predictions.keras:watch_metrics"),
            ("keras.src.metrics.metric", "predictions.keras:watch_resets"),
            # Where the versions of Keras keep the list of callbacks that ``fit`` calls.
            ("keras.src.callbacks.callback_list", "trainers:observe_fit"),
            ("keras.src.callbacks", "trainers:observe_fit"),
            ("keras.callbacks", "trainers:observe_fit"),
            ("tensorflow.python.keras.callbacks", "trainers:observe_fit"),
        ),
        boundaries=(
            ("keras.src.layers.layer", "Layer.add_weight", INIT, ALL_BUT_DATA),
            ("keras.src.backend.common.variables", "Variable._deferred_initialize", INIT, ALL_BUT_DATA),
            (
                "keras.src.trainers.data_adapters.array_data_adapter",
                "ArrayDataAdapter.get_tf_dataset ArrayDataAdapter.get_torch_dataloader",
                SHUFFLE,
                OUTSIDE,
            ),
            ("keras.src.utils.dataset_utils", "split_dataset index_directory", DATA, OUTSIDE),
            ("keras.src.utils.image_dataset_utils", "index_directory image_dataset_from_directory", DATA, OUTSIDE),
            ("keras.src.utils.text_dataset_utils", "index_directory text_dataset_from_directory", DATA, OUTSIDE),
        ),
        packages=("keras",),
        variables=("KERAS_BACKEND",),
        seeded=("keras",),
        keyed=("keras.",),
    ),
    Framework(
        # Under its own name, as TensorFlow brings it up to 2.15; below `keras.src` from 2.13 on.
        "keras 2",
        hooks=(
            ("keras.backend", "streams.keras:patch_backend"),
            ("keras.engine.base_layer", "streams.keras:patch_layer"),
            ("keras.utils.tf_utils", "streams.keras:patch_seeding"),
            ("keras.optimizers.optimizer_experimental.optimizer", "streams.keras:watch_optimizers"),
            ("keras.optimizers.optimizer", "streams.keras:watch_optimizers"),
            ("keras.src.backend", "streams.keras:patch_backend"),
            ("keras.src.engine.base_layer", "streams.keras:patch_layer"),
            ("keras.src.utils.tf_utils", "streams.keras:patch_seeding"),
            ("keras.src.optimizers.optimizer", "streams.keras:watch_optimizers"),
        ),
        boundaries=(
            ("keras.engine.base_layer", "Layer.add_weight", INIT, ALL_BUT_DATA),
            ("keras.engine.data_adapter", "TensorLikeDataAdapter.__init__", SHUFFLE, OUTSIDE),
            ("keras.src.engine.base_layer", "Layer.add_weight", INIT, ALL_BUT_DATA),
            ("keras.src.engine.data_adapter", "TensorLikeDataAdapter.__init__", SHUFFLE, OUTSIDE),
        ),
    ),
    Framework(
        "tf_keras",
        hooks=(
            ("tf_keras.src.backend", "streams.keras:patch_backend"),
            ("tf_keras.src.engine.base_layer", "streams.keras:patch_layer"),
            ("tf_keras.src.utils.tf_utils", "streams.keras:patch_seeding"),
            ("tf_keras.src.optimizers.optimizer", "streams.keras:watch_optimizers"),
            ("tf_keras.src.callbacks", "trainers:observe_fit"),
            ("tf_keras.callbacks", "trainers:observe_fit"),
        ),
        boundaries=(
            ("tf_keras.src.engine.base_layer", "Layer.add_weight", INIT, ALL_BUT_DATA),
            ("tf_keras.src.engine.data_adapter", "TensorLikeDataAdapter.__init__", SHUFFLE, OUTSIDE),
        ),
        packages=("tf_keras",),
        seeded=("tf_keras",),
        keyed=("tf_keras.",),
    ),
    Framework(
        "transformers",
        hooks=(
            ("datasets.fingerprint", "streams.libraries:patch_fingerprints"),
            ("datasets.arrow_dataset", "streams.libraries:patch_datasets"),
            ("datasets.iterable_dataset", "streams.libraries:patch_iterables"),
        ),
        epochs=(
            ("transformers.trainer", "Trainer.log", LOGS),
            ("transformers.trainer_callback", "CallbackHandler.on_epoch_begin", EPOCH),
        ),
        packages=("transformers", "datasets"),
        seeding_files=("transformers/trainer_pt_utils.py",),
    ),
    Framework(
        "accelerate",
        boundaries=(
            # It seeds samplers, and sends a state to all ranks, for the order of the data.
            ("accelerate.utils.random", "synchronize_rng_state", SHUFFLE, ALWAYS),
            ("accelerate.data_loader", "prepare_data_loader", SHUFFLE, ALWAYS),
        ),
        packages=("accelerate",),
        seeding_files=("accelerate/data_loader.py",),
    ),
    Framework(
        "lightning",
        hooks=(
            (
                "lightning.pytorch.trainer.connectors.logger_connector.logger_connector",
                "trainers:observe_lightning",
            ),
            ("lightning.pytorch.trainer.connectors.logger_connector.result", "trainers:observe_lightning"),
            (
                "pytorch_lightning.trainer.connectors.logger_connector.logger_connector",
                "trainers:observe_lightning",
            ),
            ("pytorch_lightning.trainer.connectors.logger_connector.result", "trainers:observe_lightning"),
        ),
        epochs=(
            ("lightning.pytorch.loops.fit_loop", "_FitLoop.on_advance_start", EPOCH),
            ("lightning.pytorch.loops.fit_loop", "FitLoop.on_advance_start", EPOCH),
            ("pytorch_lightning.loops.fit_loop", "_FitLoop.on_advance_start", EPOCH),
            ("pytorch_lightning.loops.fit_loop", "FitLoop.on_advance_start", EPOCH),
        ),
        packages=("lightning", "pytorch_lightning"),
    ),
    Framework(
        "stable-baselines3",
        hooks=(("stable_baselines3.common.logger", "trainers:observe_logger"),),
        boundaries=(
            # What a step learns from, of all that the agent met.
            (
                "stable_baselines3.common.buffers",
                "BaseBuffer.sample ReplayBuffer.sample DictReplayBuffer.sample RolloutBuffer.get DictRolloutBuffer.get",
                SHUFFLE,
                OUTSIDE,
            ),
            ("stable_baselines3.her.her_replay_buffer", "HerReplayBuffer.sample", SHUFFLE, OUTSIDE),
            ("sb3_contrib.common.maskable.buffers", "MaskableRolloutBuffer.get", SHUFFLE, OUTSIDE),
            ("sb3_contrib.common.maskable.buffers", "MaskableDictRolloutBuffer.get", SHUFFLE, OUTSIDE),
            ("sb3_contrib.common.recurrent.buffers", "RecurrentRolloutBuffer.get", SHUFFLE, OUTSIDE),
            ("sb3_contrib.common.recurrent.buffers", "RecurrentDictRolloutBuffer.get", SHUFFLE, OUTSIDE),
            # Actions, which a policy draws in its forward pass.
            ("stable_baselines3.common.distributions", "Distribution.get_actions", OTHER, (LAYERS,)),
        ),
        # An iteration is a rollout: the steps between two updates.
        epochs=(
            ("stable_baselines3.common.on_policy_algorithm", "OnPolicyAlgorithm.collect_rollouts", EPOCH),
            ("stable_baselines3.common.off_policy_algorithm", "OffPolicyAlgorithm.collect_rollouts", EPOCH),
        ),
        packages=("stable_baselines3", "gymnasium"),
    ),
    Framework(
        "skorch",
        hooks=(("skorch.callbacks.logging", "trainers:observe_skorch"),),
        epochs=(("skorch.net", "NeuralNet.on_epoch_begin", EPOCH),),
        packages=("skorch",),
    ),
    Framework("ignite", hooks=(("ignite.engine.engine", "trainers:observe_ignite"),)),
    Framework(
        "gymnasium",
        hooks=(
            ("gymnasium.utils.seeding", "streams.libraries:patch_seeding"),
            ("gym.utils.seeding", "streams.libraries:patch_seeding"),
        ),
        packages=("gymnasium",),
    ),
    Framework(
        "torch_geometric",
        boundaries=(
            # Splits of one graph, which no data set of torch's makes.
            ("torch_geometric.transforms.random_node_split", "RandomNodeSplit.forward", DATA, OUTSIDE),
            ("torch_geometric.transforms.random_node_split", "RandomNodeSplit.__call__", DATA, OUTSIDE),
            ("torch_geometric.transforms.random_link_split", "RandomLinkSplit.forward", DATA, OUTSIDE),
            ("torch_geometric.transforms.random_link_split", "RandomLinkSplit.__call__", DATA, OUTSIDE),
        ),
        packages=("torch_geometric",),
    ),
    Framework(
        "pyro",
        # Which rows a step sees of a plate with a size for batches.
        boundaries=(
            ("pyro.poutine.subsample_messenger", "_Subsample.sample", SHUFFLE, ALL_BUT_DATA),
            ("numpyro.primitives", "_subsample_fn", SHUFFLE, ALL_BUT_DATA),
        ),
        packages=("pyro", "numpyro"),
    ),
    # What a program reports to a tracker alone that keeps no file is seen by nobody: that it was loaded is said.
    Framework("trackers", packages=("wandb", "mlflow", "comet_ml", "neptune", "clearml", "aim", "swanlab")),
)


def every(field):
    """Return the entries that all records have in one field."""
    return tuple(entry for framework in FRAMEWORKS for entry in getattr(framework, field))
