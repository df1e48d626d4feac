"""Values that a framework's own training loop reports. They are observed; nothing is added to the loop."""

#: What attends to which module after its import. A part is loaded only then.
PARTS = (
    # where the versions of Keras keep the list of callbacks that ``fit`` calls
    ("keras.src.callbacks.callback_list", "keras_fit"),
    ("keras.src.callbacks", "keras_fit"),
    ("keras.callbacks", "keras_fit"),
    ("tf_keras.src.callbacks", "keras_fit"),
    ("tf_keras.callbacks", "keras_fit"),
    ("tensorflow.python.keras.callbacks", "keras_fit"),
    ("transformers.trainer", "transformers_trainer"),
    ("transformers.trainer_callback", "transformers_trainer"),
    ("lightning.pytorch.trainer.connectors.logger_connector.logger_connector", "lightning_trainer"),
    ("lightning.pytorch.loops.fit_loop", "lightning_trainer"),
    ("pytorch_lightning.trainer.connectors.logger_connector.logger_connector", "lightning_trainer"),
    ("pytorch_lightning.loops.fit_loop", "lightning_trainer"),
)


def attentions(process):
    """Return what to do after which import, as triples of a module's name, a part of this package and its argument."""
    observer = Observer(process)
    return [(name, __name__ + "." + part, observer) for name, part in PARTS]


#: Put before the keys under which a framework reports.
PREFIX = "fit:"

#: What frameworks log beside the metrics: schedules and counters. Recorded only where the user chose them.
BOOKKEEPING = frozenset(("epoch", "step", "global_step", "learning_rate", "lr", "total_flos"))


class Observer:
    """Records what a framework reports; a failure is noted and the framework goes on."""

    def __init__(self, process):
        self.process = process

    def report(self, logs):
        """Record each number in `logs` as ``fit:KEY``, bookkeeping left out."""
        recorder = self.process.recorder
        try:
            statics = recorder.names.statics
            kept = {key: logs[key] for key in logs or () if key not in BOOKKEEPING or PREFIX + key in statics}
            if kept:
                recorder.mapping(None, kept, PREFIX)
        except Exception as error:
            recorder.failed(None, error)

    def tick(self):
        """Count an epoch as an iteration of the main loop, unless a loop in the source is the main loop."""
        if not self.process.counts_source_loop:
            self.process.recorder.tick()
