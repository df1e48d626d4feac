"""Values that a framework's own training loop reports. They are observed; nothing is added to the loop."""

from ..names import PREFIX

#: What attends to which module after its import. A part is loaded only then.
PARTS = (
    # where the versions of Keras keep the list of callbacks that ``fit`` calls
    ("keras.src.callbacks.callback_list", "keras_fit"),
    ("keras.src.callbacks", "keras_fit"),
    ("keras.callbacks", "keras_fit"),
    ("tf_keras.src.callbacks", "keras_fit"),
    ("tf_keras.callbacks", "keras_fit"),
    ("tensorflow.python.keras.callbacks", "keras_fit"),
    ("tensorflow.python.summary.writer.writer", "tensorflow_summaries"),
    ("ignite.engine.engine", "ignite_engine"),
    ("transformers.trainer", "transformers_trainer"),
    ("transformers.trainer_callback", "transformers_trainer"),
    ("lightning.pytorch.trainer.connectors.logger_connector.logger_connector", "lightning_trainer"),
    ("lightning.pytorch.trainer.connectors.logger_connector.result", "lightning_trainer"),
    ("lightning.pytorch.loops.fit_loop", "lightning_trainer"),
    ("pytorch_lightning.trainer.connectors.logger_connector.logger_connector", "lightning_trainer"),
    ("pytorch_lightning.trainer.connectors.logger_connector.result", "lightning_trainer"),
    ("pytorch_lightning.loops.fit_loop", "lightning_trainer"),
)


def attentions(process):
    """Return what to do after which import, as triples of a module's name, a part of this package and its argument."""
    observer = Observer(process)
    return [(name, __name__ + "." + part, observer) for name, part in PARTS]


#: What frameworks log beside the metrics: schedules and counters. Recorded only where the user chose them.
BOOKKEEPING = frozenset(("epoch", "step", "global_step", "learning_rate", "lr", "total_flos"))


class Observer:
    """Records what a framework reports; a failure is noted and the framework goes on."""

    def __init__(self, process):
        self.process = process

    def report(self, logs, prefix=PREFIX):
        """Record each number in `logs` as ``fit:KEY``, but for bookkeeping and what the source yields itself."""
        recorder = self.process.recorder
        names = recorder.names
        kept = {}
        for key in logs or ():
            name = prefix + str(key)
            if name not in names.sourced and (key not in BOOKKEEPING or name in names.statics):
                kept[key] = logs[key]
        if kept:
            recorder.mapping(None, kept, prefix)

    def tick(self):
        """Count an epoch as an iteration of the main loop, unless a loop in the source is the main loop."""
        if not self.process.counts_source_loop:
            self.process.recorder.tick()

    def failed(self, error):
        """Note that something could not be observed."""
        self.process.recorder.failed(None, error)
