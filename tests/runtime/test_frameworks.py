"""Values that a framework's own loop reports."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from installed import require
from programs import FRAMEWORK, Run

pytestmark = pytest.mark.slow

TICK = -1


@pytest.mark.nightly
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_reports_its_epochs(run: Run, backend: str) -> None:
    require("keras", backend)
    source = """
    import keras, numpy as np
    keras.utils.set_random_seed(5)
    x = np.linspace(0, 1, 64, dtype="float32").reshape(16, 4); y = (x.sum(1) > 2).astype("float32")
    class Extra(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["extra"] = 2.0 * epoch
    layers = [keras.layers.Dense(4), keras.layers.Dropout(0.5), keras.layers.Dense(1, activation="sigmoid")]
    model = keras.Sequential(layers)
    model.compile("adam", "binary_crossentropy")
    history = model.fit(x, y, epochs=2, validation_split=0.25, verbose=0, callbacks=[Extra()])
    print(history.history["val_loss"], history.history["loss"], sum(w.sum() for w in model.get_weights()))
    """
    outcome = run(textwrap.dedent(source), environment={"KERAS_BACKEND": backend})
    assert outcome.stdout.startswith(f"{outcome.values(FRAMEWORK)} {outcome.named('fit:loss')} ")
    assert outcome.named("fit:extra") == [0.0, 2.0]
    assert outcome.values(TICK) == [0.0, 1.0]


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a package that looks like Keras from the runtime's side; its end of an epoch raises."""
    package = tmp_path / "stand-in" / "keras" / "src" / "callbacks"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").write_text("")
    (package / "callback_list.py").write_text(
        "class CallbackList:\n"
        "    def on_epoch_begin(self, epoch, logs=None): pass\n"
        "    def on_epoch_end(self, epoch, logs=None): raise ValueError('mine')\n"
    )
    return tmp_path / "stand-in"


def test_schedules_and_counters_in_the_logs_are_no_metrics(run: Run, stand_in: Path) -> None:
    source = """
    from keras.src.callbacks.callback_list import CallbackList
    logs = {"loss": 1.0, "learning_rate": 0.1, "lr": 0.1, "epoch": 3, 7: 2.0}
    try:
        CallbackList().on_epoch_end(0, logs)
    except ValueError:
        print(sorted(map(str, logs)))
    """
    outcome = run(textwrap.dedent(source), path=(stand_in,))
    assert outcome.stdout == "['7', 'epoch', 'learning_rate', 'loss', 'lr']\n"
    assert [event["name"] for event in outcome.of("name")] == ["fit:loss", "fit:7"]


def test_a_loop_of_the_source_takes_precedence_over_epochs(run: Run, stand_in: Path) -> None:
    source = """
    from keras.src.callbacks.callback_list import CallbackList
    def fit():
        callbacks = CallbackList()
        callbacks.on_epoch_begin(0)
        try:
            callbacks.on_epoch_end(0, {"loss": 1.0, "val_loss": "2"})
        except ValueError as error:
            print(error)
    fit()
    for fold in __dv_loop__(range(2)):
        fit()
    """
    outcome = run(textwrap.dedent(source), path=(stand_in,))
    assert (outcome.stdout, outcome.stderr) == ("mine\n" * 3, "")
    assert outcome.values(TICK) == [0.0, 1.0, 2.0]
    assert (outcome.named("fit:loss"), outcome.values(FRAMEWORK)) == ([1.0] * 3, [2.0] * 3)


def test_what_the_source_yields_is_not_recorded_again(run: Run, stand_in: Path) -> None:
    source = """
    from keras.src.callbacks.callback_list import CallbackList
    logs = {"margin": __dv__(0, 1.0), "loss": 2.0}
    try:
        CallbackList().on_epoch_end(0, logs)
    except ValueError:
        pass
    """
    metrics = [{"name": "margin", "how": "value", "reads": "", "label": "", "key": "fit:margin"}]
    outcome = run(textwrap.dedent(source), path=(stand_in,), metrics=metrics)
    assert [event["name"] for event in outcome.of("name")] == ["fit:loss"]
    assert (outcome.values(0), outcome.named("fit:loss")) == ([1.0], [2.0])


def test_a_name_foreseen_in_part_belongs_to_its_metric(run: Run, stand_in: Path) -> None:
    source = """
    from keras.src.callbacks.callback_list import CallbackList
    for epoch in range(2):
        try:
            CallbackList().on_epoch_end(epoch, {"val/a.loss": 1.0, "val/acc": 2.0, "other": 3.0})
        except ValueError:
            pass
    """
    keys = ["fit:{}", "fit:{self.stage}/a.loss", "fit:val/acc"]
    metrics = [{"name": key, "how": "framework", "reads": "", "label": ""} for key in keys]
    outcome = run(textwrap.dedent(source), path=(stand_in,), metrics=metrics)
    assert [(event["name"], event["metric"]) for event in outcome.of("name")] == [("val/a.loss", 1), ("other", 0)]
    assert outcome.named("val/a.loss") == [1.0, 1.0]
    assert outcome.values(2) == [2.0, 2.0]


SUMMARIES = """
class Value:
    def __init__(self, tag, simple_value=None):
        self.tag, self.simple_value = tag, simple_value
    def HasField(self, name):
        return getattr(self, name) is not None
class Summary:
    def __init__(self, *value):
        self.value = value
    @classmethod
    def FromString(cls, text):
        return cls(*(Value(*word.split(b"=")) for word in text.split()))
class summary_pb2:
    Summary = Summary
class SummaryToEventTransformer:
    def __init__(self, event_writer):
        self.event_writer = event_writer
    def add_summary(self, summary, global_step=None):
        print("written")
class EventWriter:
    def __init__(self, folder):
        self.folder = folder
    def get_logdir(self):
        return self.folder
"""


def test_summaries_of_a_graph_are_told_apart_by_writer_and_scope(run: Run, tmp_path: Path) -> None:
    package = tmp_path / "stand-in" / "tensorflow" / "python" / "summary" / "writer"
    package.mkdir(parents=True)
    for folder in [package, *package.parents[:3]]:
        (folder / "__init__.py").write_text("")
    (package / "writer.py").write_text(SUMMARIES)
    source = """
    from tensorflow.python.summary.writer.writer import *
    train = SummaryToEventTransformer(EventWriter("logs/train/"))
    train.add_summary(Summary(Value("loss", 1.0), Value("weights"), Value("tower/accuracy_1", 0.5), Value("lr", 0.1)))
    test = SummaryToEventTransformer(EventWriter(b"logs/test"))
    test.add_summary(Summary(Value("loss", 2.0)), 1)
    test.add_summary(Summary(Value("other", 3.0)), global_step=1)
    test.event_writer = None
    test.add_summary(Summary(Value("loss", 4.0)))
    """
    metrics = [{"name": name, "how": "framework", "reads": "", "label": ""} for name in ("loss", "accuracy")]
    outcome = run(textwrap.dedent(source), path=(tmp_path / "stand-in",), metrics=metrics)
    assert (outcome.stdout, outcome.stderr) == ("written\n" * 4, "")
    assert outcome.values(0) == [1.0]
    named = {event["name"]: (event["metric"], outcome.named(event["name"])) for event in outcome.of("name")}
    assert named == {"tower/accuracy_1": (1, [0.5]), "test/loss": (0, [2.0]), "test/other": (None, [3.0])}
    assert outcome.notes("value-unreadable")


def test_lightning_reports_what_modules_log(run: Run) -> None:
    require("lightning")
    source = """
    import torch, lightning
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)
        def training_step(self, batch, index):
            return (self.layer(batch) ** 2).mean()
        def validation_step(self, batch, index):
            self.log("val_loss", (self.layer(batch) ** 2).mean())
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)
    data = torch.utils.data.DataLoader(torch.ones(8, 2), 8)
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    lightning.Trainer(max_epochs=2, accelerator="cpu", num_sanity_val_steps=0, **options).fit(Module(), data, data)
    """
    outcome = run(textwrap.dedent(source))
    assert len(outcome.values(FRAMEWORK)) == 2, outcome.stderr
    assert outcome.values(TICK) == [0.0, 1.0]


def test_the_trainer_of_transformers_reports_its_logs(run: Run, tmp_path: Path) -> None:
    require("transformers", "accelerate")
    source = f"""
    import torch
    from transformers import Trainer, TrainingArguments
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)
        def forward(self, x=None, labels=None):
            logits = self.layer(x).squeeze(-1)
            return {{"loss": ((logits - labels) ** 2).mean(), "logits": logits}}
    data = [{{"x": torch.ones(2), "labels": torch.tensor(1.0)}}] * 8
    options = dict(num_train_epochs=2, logging_strategy="epoch", report_to=[], use_cpu=True, save_strategy="no")
    options = TrainingArguments({str(tmp_path)!r}, disable_tqdm=True, **options)
    trainer = Trainer(Model(), options, train_dataset=data, eval_dataset=data)
    trainer.train()
    trainer.evaluate()
    # One that is made to evaluate: of what data only the program knows.
    Trainer(trainer.model, options, eval_dataset=data[:2]).evaluate()
    """
    outcome = run(textwrap.dedent(source))
    assert len(outcome.named("fit:loss")) == 2, outcome.stderr
    assert len(outcome.named("fit:eval_loss")) == len(outcome.named("evaluate:eval_loss")) == 1
    assert outcome.values(TICK) == [0.0, 1.0]


#: What stands in for the libraries of trees from the runtime's side; the words of XGBoost's sets have a hyphen.
BOOSTERS = {
    "lightgbm.basic": """
        class Booster:
            def update(self): pass
            def eval_train(self, feval=None): return [("training", "l2", 0.5, False)]
            def eval_valid(self, feval=None): return [("valid_0", "l2", 0.7, False), ("valid_0", "own", 0.9, True)]
        """,
    "xgboost.callback": """
        class CallbackContainer:
            history, is_cv = {}, False
            def before_iteration(self, model, epoch, dtrain, evals): return False
            def after_iteration(self, model, epoch, dtrain, evals):
                self.history.setdefault("eval", {}).setdefault("auc", []).append(0.6 + epoch)
                return False
        """,
    "catboost.core": """
        class CatBoost:
            def _fit(self, x): return self
            def get_evals_result(self): return {"learn": {"RMSE": [2.0, 1.0]}, "validation": {"RMSE": [3.0, 2.5]}}
        """,
}


@pytest.mark.parametrize(
    ("source", "values"),
    [
        (
            "from lightgbm.basic import Booster\nbooster = Booster()\nfor _ in range(2):\n    booster.update()\n"
            "    print(booster.eval_train(), booster.eval_valid())\n",
            {"fit:training's l2": [0.5, 0.5], "fit:valid_0's l2": [0.7, 0.7], "fit:valid_0's own": [0.9, 0.9]},
        ),
        (
            "from xgboost.callback import CallbackContainer\nkept = CallbackContainer()\nfor epoch in range(2):\n"
            "    print(kept.before_iteration(None, epoch, None, []), kept.after_iteration(None, epoch, None, []))\n",
            {"fit:eval-auc": [0.6, 1.6]},
        ),
        (
            "from catboost.core import CatBoost\nprint(CatBoost()._fit(None).get_evals_result())\n",
            {"fit:learn_RMSE": [2.0, 1.0], "fit:test_RMSE": [3.0, 2.5]},
        ),
    ],
    ids=["lightgbm", "xgboost", "catboost"],
)
def test_trees_report_what_they_evaluate(run: Run, tmp_path: Path, source: str, values: dict[str, list[float]]) -> None:
    for dotted, code in BOOSTERS.items():
        package, _, module = dotted.partition(".")
        (tmp_path / "library" / package).mkdir(parents=True)
        (tmp_path / "library" / package / "__init__.py").write_text("")
        (tmp_path / "library" / package / f"{module}.py").write_text(textwrap.dedent(code))
    library = (tmp_path / "library",)
    outcome = run(source, path=library)
    assert outcome.stdout == run(source, runtime=False, path=library).stdout
    assert {name: outcome.named(name) for name in values} == values
    assert outcome.values(TICK) == [0.0, 1.0]
    assert outcome.of("note") == []
