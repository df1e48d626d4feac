"""Trainings that run inside a framework."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysed_projects import HEAD, STEP, analyse, looped, names, write

from deviate.cli.extract import SURE
from deviate.observe.headline import main_metric
from deviate.source.analysis import analyse_project


def test_keras_fit_reports_what_compile_names(tmp_path):
    train = """
    import keras
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse', metrics=['accuracy', keras.metrics.AUC(name='auc')])
    model.fit(x, y, epochs=3, validation_data=(x, y))
    """
    findings = analyse(tmp_path, train=train)
    assert set(names(findings)) == {
        "fit:loss",
        "fit:accuracy",
        "fit:auc",
        "fit:val_loss",
        "fit:val_accuracy",
        "fit:val_auc",
    }
    assert set(names(findings).values()) == {"framework"}
    assert (findings.main_loop.kind, findings.main_loop.line) == ("call", 5)


def test_each_output_of_a_keras_model_has_its_losses_and_metrics(tmp_path):
    train = """
    import keras
    model, other = keras.Model(a, b), keras.Sequential([])
    losses = {'left': 'mse', 'right': 'mse'}
    losses['third'] = 'mae'
    other.compile(optimizer='adam', loss='mse', metrics=['mae'])
    model.compile(optimizer='adam', loss=losses, metrics={'left': ['accuracy'], 'right': 'auc'})
    model.fit(x, y, epochs=3)
    """
    ours = {"loss", "left_loss", "right_loss", "third_loss", "left_accuracy", "right_auc"}
    assert set(names(analyse(tmp_path, train=train))) == {f"fit:{name}" for name in ours}


def test_hugging_face_trainer_with_data_spread_over_keywords_is_evaluated(tmp_path):
    train = """
    from transformers import Seq2SeqTrainer
    model = build(loss(1.0).backward())
    trainer = Seq2SeqTrainer(model=model, **data)
    trainer.train()
    trainer.evaluate()
    """
    assert {"fit:loss", "fit:eval_loss"} <= set(names(analyse(tmp_path, train=train)))


def test_hugging_face_trainer_reports_losses_and_computed_metrics(tmp_path):
    train = """
    import transformers
    def compute(pred):
        return {'f1': score(pred)}
    trainer = transformers.Trainer(model=model, train_dataset=a, eval_dataset=b, compute_metrics=compute)
    trainer.train()
    """
    captures = names(analyse(tmp_path, train=train))
    assert {"fit:loss", "fit:eval_loss", "fit:eval_f1"} <= set(captures)


def test_lightning_logs_in_hooks_nobody_calls(tmp_path):
    train = """
    import lightning as L
    class Net(L.LightningModule):
        def training_step(self, batch, index):
            loss = self.layer(batch).mean()
            self.log('train_loss', loss)
            return loss
    L.Trainer(max_epochs=2).fit(Net(), loader)
    """
    findings = analyse(tmp_path, train=train)
    assert names(findings) == {"loss": "framework"}
    (metric,) = findings.metrics
    assert (metric.name, metric.capture.key) == ("train_loss", "fit:train_loss")
    assert findings.main_loop.kind == "call"


@pytest.mark.parametrize("library", ["lightning", "pytorch_lightning"])
def test_lightning_reports_nothing_as_keras_does(tmp_path, library):
    train = f"""
    import {library} as L
    class Net(L.LightningModule):
        def training_step(self, batch, index):
            loss = self.layer(batch).mean()
            self.log('train_loss', loss)
            return loss
    encoder.compile(optimizer='adam', loss='mse')
    trainer = L.Trainer(max_epochs=2)
    trainer.fit(Net(), loader)
    """
    assert names(analyse(tmp_path, train=train)) == {"loss": "framework"}


def test_lightning_logs_under_a_name_made_at_run_time(tmp_path):
    train = """
    import lightning as L
    class Net(L.LightningModule):
        def step(self, batch, stage):
            loss = self.layer(batch).mean()
            self.log(f'{stage}/loss', loss)
            return loss
        def training_step(self, batch, index):
            return self.step(batch, 'train')
        def validation_step(self, batch, index):
            metrics = measured(self.step(batch, 'val'))
            self.log_dict(metrics)
    L.Trainer(max_epochs=2).fit(Net(), loader)
    """
    findings = analyse(tmp_path, train=train)
    assert {(metric.variable, metric.capture.key, metric.capture.label) for metric in findings.metrics} == {
        ("loss", "fit:{stage}/loss", "stage"),
        ("metrics", "fit:{}", ""),
    }


def test_a_function_that_is_handed_a_module_of_lightning_logs_to_it(tmp_path):
    steps = """
    def compute(net, batch):
        loss = net.layer(batch).mean()
        phase = 'train' if net.training else 'val'
        net.log(f'{phase}/loss', loss)
        return loss
    """
    train = """
    import math
    import lightning as L
    import steps
    class Net(L.LightningModule):
        def training_step(self, batch, index):
            return steps.compute(self, batch)
    scale = math.log(2)
    L.Trainer(max_epochs=2).fit(Net(), loader)
    """
    findings = analyse(tmp_path, train=train, steps=steps)
    assert [(metric.file, metric.capture.key) for metric in findings.metrics] == [("steps.py", "fit:{phase}/loss")]


def test_an_autoencoder_is_fitted_and_an_encoder_of_labels_is_not(tmp_path):
    train = """
    from project import Model, LabelEncoder
    model, encoder = Model(), LabelEncoder()
    encoder.fit(labels)
    model.autoencoder.fit(x, x, shuffle=True, nb_epoch=3, batch_size=8)
    """
    assert analyse(tmp_path, train=train).main_loop.variable == "model.autoencoder.fit"


def test_what_lightning_collected_is_not_listed_again(tmp_path):
    train = """
    import lightning as L
    class Net(L.LightningModule):
        def validation_step(self, batch, index):
            self.log('val_loss', self.layer(batch).mean())
    class Table(L.Callback):
        def on_train_epoch_end(self, trainer, module):
            print({name: value.item() for name, value in trainer.callback_metrics.items()})
            for name, value in trainer.logged_metrics.items():
                print(name, value)
            seen = trainer.callback_metrics
            print('loss', seen['val_loss'])
    trainer = L.Trainer(max_epochs=2, callbacks=[Table()])
    trainer.fit(Net(), loader)
    print(trainer.callback_metrics, trainer.callback_metrics['val_loss'].item())
    """
    assert [metric.capture.key for metric in analyse(tmp_path, train=train).metrics] == ["fit:val_loss"]


def test_what_the_source_yields_is_known_under_the_framework_s_key_too(tmp_path):
    train = """
    import keras
    class Margin(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs['val_margin'] = abs(self.model.predict(x) - y).max()
    model.compile(optimizer='adam', loss='mse')
    model.fit(x, y, epochs=3, callbacks=[Margin()])
    """
    captures = {
        metric.name: (metric.capture.how, metric.capture.key) for metric in analyse(tmp_path, train=train).metrics
    }
    assert captures == {"loss": ("framework", ""), "val_margin": ("value", "fit:val_margin")}


def test_a_loop_of_an_object_that_a_configuration_makes_is_the_main_loop(tmp_path):
    train = """
    import importlib
    import hydra
    task = importlib.import_module('task')
    def main(cfg):
        hydra.utils.instantiate(cfg.trainer).fit(task.make_model())
    main(config)
    """
    task = """
    class Trainer:
        def fit(self, model):
            for epoch in range(3):
                loss = model(x).mean()
                loss.backward()
                print('loss', loss.item())
    def make_model():
        return net
    """
    (tmp_path / "conf.yaml").write_text("trainer:\n  _target_: task.Trainer\n")
    findings = analyse(tmp_path, train=train, task=task)
    assert (findings.main_loop.file, findings.main_loop.kind) == ("task.py", "for")
    assert names(findings) == {"loss": "value"}


def test_tf1_summaries_are_the_framework_s(tmp_path):
    train = """
    import tensorflow as tf
    tf.summary.scalar('xent', model.xent)
    with tf.Session() as sess:
        for step in range(100):
            sess.run(train_op)
            print('acc', sess.run(model.accuracy))
    """
    captures = {
        metric.variable: (metric.capture.how, metric.capture.key) for metric in analyse(tmp_path, train=train).metrics
    }
    assert captures["model.xent"] == ("framework", "xent")


def test_ignite_handlers(tmp_path):
    train = """
    from ignite.engine import Engine, Events
    trainer = Engine(step)
    @trainer.on(Events.EPOCH_COMPLETED)
    def told(engine):
        metrics = engine.state.metrics
        print(f"epoch {engine.state.epoch} accuracy {metrics['accuracy']:.2f}")
    trainer.run(loader, max_epochs=3)
    """
    findings = analyse(tmp_path, train=train)
    assert names(findings) == {"metrics['accuracy']": "value"}
    assert findings.main_loop.variable == "trainer.run"


def test_numpy_loop_without_any_framework(tmp_path):
    train = """
    import numpy as np
    w = np.zeros(3)
    for it in range(100):
        error = X.dot(w) - y
        cost = (error ** 2).mean()
        w -= 0.1 * lr * X.T.dot(error)
        print(it, cost)
    """
    findings = analyse(tmp_path, train=train)
    assert names(findings) == {"cost": "value"}
    assert findings.main_loop.variable == "it"


def test_a_loop_over_seeds_is_not_the_main_loop(tmp_path):
    train = """
    for seed in range(5):
        for epoch in range(3):
            loss = model(x).mean()
            loss.backward()
            print('loss', loss.item())
    """
    assert analyse(tmp_path, train=train).main_loop.variable == "epoch"


def test_compiled_functions_are_not_wrapped(tmp_path):
    train = """
    import torch
    @torch.jit.script
    def step(x):
        loss = net(x).mean()
        print('loss', loss.item())
        return loss
    for epoch in range(3):
        step(x).backward()
    """
    findings = analyse(tmp_path, train=train)
    assert names(findings) == {}
    assert "cannot be recorded" in findings.metrics[0].why


BOOSTED = {
    "LightGBM": "import lightgbm as lgb\nbooster = lgb.train(settings, data, valid_sets=[data])\n",
    "XGBoost": "import xgboost\nbooster = xgboost.train(settings, data, evals=[(data, 'train')])\n",
    "a name of its own": "from lightgbm import train as boost\nbooster = boost(settings, data)\n",
    "an estimator": "import tensorflow as tf\nmodel = tf.estimator.Estimator(build)\nmodel.train(input_fn=read)\n",
}


@pytest.mark.parametrize("text", BOOSTED.values(), ids=BOOSTED.keys())
def test_a_function_of_a_library_that_trains_is_the_main_loop(tmp_path, text):
    loop = analyse(tmp_path, train=text).main_loop
    assert loop is not None
    assert (loop.line, loop.kind) == (len(text.splitlines()), "call")


def test_a_loop_over_runs_that_each_make_an_optimiser_of_any_name_is_not_the_main_loop(tmp_path):
    body = "".join(f"        {line}\n" for line in STEP.strip().splitlines())
    text = HEAD + "from project_optimisers import Optim\ndef main():\n    optimizer = Optim(model)\n"
    text += "    for epoch in range(2):\n        x, y = loader[0]\n" + body + "    return loss.item()\n"
    text += "for i in range(10):\n    print('loss', main())\n"
    loop = analyse(tmp_path, train=text).main_loop
    assert loop is not None
    assert loop.variable == "epoch"


def test_an_evaluation_that_an_option_leaves_out_reports_nothing(tmp_path):
    text = """
    from transformers import HfArgumentParser, Trainer, TrainingArguments
    training_args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(model, training_args, eval_dataset=data if training_args.do_eval else None)
    trainer.train()
    """
    project = write(tmp_path, train=text)
    logged = {
        words: names(analyse_project(project, Path("train.py"), (), words.split())) for words in ("", "--do_eval")
    }
    assert "fit:eval_loss" not in logged[""]
    assert "fit:eval_loss" in logged["--do_eval"]


WHEN = {
    "never": ("eval_strategy='no'", "", False),
    "by default": ("output_dir='out'", "", False),
    "each epoch": ("evaluation_strategy='epoch'", "", True),
    "unknown": ("eval_strategy=when", "", True),
    "spread": ("**settings", "", True),
    "afterwards": ("eval_strategy='no'", "trainer.evaluate()", True),
}


@pytest.mark.parametrize(("when", "after", "is_logged"), WHEN.values(), ids=WHEN.keys())
def test_a_hugging_face_training_evaluates_where_its_arguments_say_when(tmp_path, when, after, is_logged):
    text = f"""
    from transformers import Trainer, TrainingArguments
    options = TrainingArguments({when})
    trainer = Trainer(model=model, args=options, train_dataset=a, eval_dataset=b)
    trainer.train()
    {after}
    """
    assert ("fit:eval_loss" in names(analyse(tmp_path, train=text))) is is_logged


def test_a_command_says_when_a_hugging_face_training_evaluates(tmp_path):
    text = """
    from transformers import HfArgumentParser, Trainer, TrainingArguments
    args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    trainer = Trainer(model, args, eval_dataset=data)
    trainer.train()
    """
    project = write(tmp_path, train=text)
    logged = {
        words: "fit:eval_loss" in names(analyse_project(project, Path("train.py"), (), words.split()))
        for words in ("", "--eval_strategy no", "--evaluation_strategy=steps")
    }
    assert logged == {"": False, "--eval_strategy no": False, "--evaluation_strategy=steps": True}
    assert "fit:eval_loss" in names(analyse(tmp_path, train=text))


FITS = {
    "quiet": ("model.fit(x, y, verbose=0)", False),
    "shown": ("model.fit(x, y)", True),
    "taken": ("history = model.fit(x, y, verbose=0)", True),
    "called back": ("model.fit(x, y, verbose=0, callbacks=[log])", True),
    "stopped early": ("model.fit(x, y, verbose=0, callbacks=[keras.callbacks.EarlyStopping(patience=2)])", False),
    "stopped and logged": (
        "stop = keras.callbacks.EarlyStopping()\nlog = keras.callbacks.CSVLogger('log')\n"
        "model.fit(x, y, verbose=0, callbacks=[stop, log])",
        True,
    ),
}


@pytest.mark.parametrize(("fit", "is_reported"), FITS.values(), ids=FITS.keys())
def test_a_fit_that_shows_nothing_reports_nothing(tmp_path, fit, is_reported):
    text = f"import keras\nmodel = keras.Sequential()\nmodel.compile(loss='mse', optimizer='sgd')\n{fit}\n"
    assert ("fit:loss" in names(analyse(tmp_path, train=text))) is is_reported


def test_what_an_engine_of_ignite_keeps_of_an_evaluation_is_a_metric(tmp_path):
    train = """
    from ignite.engine import Engine, Events
    trainer, evaluator = Engine(step), Engine(check)
    @trainer.on(Events.EPOCH_COMPLETED)
    def report(engine):
        evaluator.run(loader)
        precision, curve = evaluator.state.metrics["both"]
        print("precision: {:.1%}".format(precision))
        print("gap: {:.1%}".format(curve[0]))
        print("epoch: {}".format(engine.state.epoch))
    trainer.run(loader, max_epochs=3)
    """
    assert {"precision", "curve[0]"} == set(names(analyse(tmp_path, train=train)))


def test_the_progress_bar_of_ignite_shows_messages(tmp_path):
    train = """
    from ignite.contrib.handlers import ProgressBar
    from ignite.engine import Engine, Events
    trainer, evaluator, pbar = Engine(step), Engine(check), ProgressBar(persist=True)
    show = lambda _: pbar.log_message("Validation: %s" % evaluator.state.metrics["nll"])
    evaluator.add_event_handler(Events.COMPLETED, show)
    trainer.run(loader, max_epochs=3)
    """
    assert "evaluator.state.metrics['nll']" in names(analyse(tmp_path, train=train))


def test_a_trainer_of_a_library_is_told_from_the_loop_of_a_class_that_is_not_made(tmp_path):
    train = """
    from transformers import Trainer
    class Other(Trainer):
        def train(self, resume_from_checkpoint=None):
            for epoch in range(3):
                loss = step()
                loss.backward()
    class Own(Trainer):
        pass
    def run(trainer):
        trainer.train(resume_from_checkpoint=None)
    run(Own(model=model))
    """
    assert analyse(tmp_path, train=train).main_loop.kind == "call"


def test_a_model_that_sklearn_cloned_is_fitted_where_its_keywords_say_so(tmp_path):
    train = """
    from sklearn.base import clone
    import lightgbm as lgb
    def fit(estimator, x, y):
        model = clone(estimator)
        model.fit(x, y, eval_set=[(x, y)], callbacks=[lgb.early_stopping(30)])
    fit(build(), x, y)
    """
    loop = analyse(tmp_path, train=train).main_loop
    assert (loop.kind, loop.line) == ("call", 6)


def test_metrics_that_are_added_to_a_model_are_reported(tmp_path):
    train = """
    import tensorflow as tf
    def name_parts(model, parts):
        for name, value in parts.items():
            model.add_metric(value, name=name, aggregation="mean")
    model = tf.keras.Model(x, y)
    name_parts(model, {"box_loss": box, "class_loss": cls})
    model.add_metric(size, name="size_error")
    model.compile(optimizer="adam", loss="mse")
    model.fit(x, y, epochs=3)
    """
    found = {metric.name for metric in analyse(tmp_path, train=train).metrics}
    assert found == {"loss", "box_loss", "class_loss", "size_error"}


def test_the_loop_of_an_estimator_is_the_training_whatever_it_is_called(tmp_path):
    train = """
    import tensorflow as tf
    nn = tf.estimator.Estimator(model_fn=model_fn)
    nn.train(input_fn=data, steps=100)
    """
    assert analyse(tmp_path, train=train).main_loop.line == 4


def test_the_mode_of_a_network_is_no_training(tmp_path):
    train = """
    import torch
    layers = torch.nn.Sequential(torch.nn.Linear(2, 1))
    layers.train()
    """
    assert analyse(tmp_path, train=train).main_loop is None


def test_a_metric_of_a_library_that_the_project_derives_gives_numbers(tmp_path):
    before = """
import tensorflow as tf
class Pearson(tf.keras.metrics.Metric):
    def result(self):
        return self.total
pearson = Pearson()
"""
    report = "train_r_epoch = pearson.result().numpy()\nprint('train_r: %.4f' % train_r_epoch)"
    assert "train_r_epoch" in {metric.variable for metric in analyse(tmp_path, train=looped(report, before)).metrics}


def test_a_module_of_mxnet_trains_where_it_is_fitted(tmp_path):
    train = """
    import mxnet as mx

    module = mx.mod.Module(symbol, context=mx.cpu())
    module.fit(train_data, eval_data=held_out, eval_metric=["acc", "ce"], num_epoch=8)
    """
    loop = analyse(tmp_path, train=train).main_loop
    assert (loop.kind, loop.line) == ("call", 5)


def test_outputs_of_a_keras_model_are_called_after_the_layers_that_give_them(tmp_path):
    train = """
    import keras
    def build(shape):
        inner = keras.Sequential(name='drawing')
        inner.add(keras.layers.Dense(4))
        seen = keras.Input(shape)
        kind = keras.layers.Dense(3, name='kind')(seen)
        return keras.Model(seen, [kind, inner(seen)]), keras.Model(seen, kind)
    model, part = build((4,))
    saving = keras.callbacks.ModelCheckpoint('best.h5', monitor='val_kind_acc')
    model.compile('adam', loss=[margin, 'mse'], metrics={'kind': 'accuracy'})
    model.fit(x, [y, x], validation_data=(a, [b, a]), callbacks=[saving])
    """
    ours = {"loss", "kind_loss", "drawing_loss", "kind_acc"}
    expected = {f"fit:{split}{name}" for name in ours for split in ("", "val_")}
    assert set(names(analyse(tmp_path, train=train))) == expected


@pytest.mark.parametrize(
    ("file", "text", "absent"),
    [
        ("requirements.txt", "sentence-transformers==2.0.1\n", set()),
        ("requirements.txt", "torch\ntransformers[torch]==4.38.0\n", set()),
        ("requirements.txt", "transformers >= 4.1\n", set()),
        ("environment.yml", "  - transformers=4.31.0\n", {"grad_norm"}),
        ("README.md", "We ran it with `transformers==4.6.1`.", {"grad_norm", "train_loss", "train_steps_per_second"}),
        ("pyproject.toml", 'transformers = "4.1.1"\n', {"grad_norm", "train_loss", "train_runtime",
                                                       "train_samples_per_second", "train_steps_per_second"}),
    ],
)  # fmt: skip
def test_the_version_that_a_project_states_says_what_the_hugging_face_trainer_logs(tmp_path, file, text, absent):
    train = "from transformers import Trainer\ntrainer = Trainer(model=model, train_dataset=data)\ntrainer.train()\n"
    (tmp_path / file).write_text(text)
    every = {"loss", "grad_norm", "train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second"}
    assert set(names(analyse(tmp_path, train=train))) == {f"fit:{name}" for name in every - absent}


_OWN_STEPS = """
import keras
class Drawing(keras.Model):
    def __init__(self):
        super().__init__()
        self.dark = keras.metrics.Mean(name='shade')
        self.all = keras.metrics.Mean()
    def train_step(self, batch):
        {train}
    def test_step(self, batch):
        return {{'sharpness': self.sharpness.result()}}
class Sketch(Drawing):
    pass
model = Sketch()
model.compile({compile})
model.fit(pages, epochs=3, validation_data=more)
"""


@pytest.mark.parametrize(
    ("train", "compiled", "shown"),
    [
        ("return {'d_loss': self.critic(batch), 'g_loss': self.pen(batch)}", "pen='adam'", {"d_loss", "g_loss"}),
        ("return {each.name: each.result() for each in self.metrics}", "pen='adam'", {"shade", "mean"}),
        ("return {each.name: each.result() for each in self.metrics[:5]}", "pen='adam'", {"shade", "mean"}),
        ("logs = super().train_step(batch)\n        logs['ink'] = 1.0\n        return logs",
         "optimizer='adam', metrics=['mae']", {"loss", "mae", "ink"}),
    ],
)  # fmt: skip
def test_keras_shows_what_the_steps_of_a_models_own_class_return(tmp_path, train, compiled, shown):
    findings = analyse(tmp_path, train=_OWN_STEPS.format(train=train, compile=compiled))
    assert set(names(findings)) == {f"fit:{name}" for name in (*shown, "val_sharpness")}


def test_what_keras_gives_a_callback_to_log_comes_from_the_training(tmp_path):
    train = """
    import tensorflow as tf
    from keras.callbacks import TensorBoard
    class Each(TensorBoard):
        def on_epoch_end(self, epoch, logs=None):
            logs = logs or {}
            for name, value in logs.items():
                summary = tf.Summary()
                item = summary.value.add()
                item.simple_value = value.item()
                item.tag = name
                self.writer.add_summary(summary, epoch)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile('sgd', loss='mse')
    model.fit(x, y, epochs=3, callbacks=[Each()])
    """
    assert "value" in names(analyse(tmp_path, train=train))


def test_a_step_of_lightning_may_hand_back_a_mapping_that_a_name_holds_or_a_call_makes(tmp_path):
    train = """
    import pytorch_lightning as L
    class Net(L.LightningModule):
        def training_step(self, batch, index):
            loss = self.layer(batch).mean()
            return dict(loss=loss, log=dict(train_loss=loss))
        def validation_step(self, batch, index):
            output = {}
            output['log'] = {'val_loss': self.layer(batch).mean()}
            return output
        def validation_end(self, outputs):
            reduced = {}
            reduced.update(dict(log={'gap': self.layer(outputs).mean()}))
            return reduced
    L.Trainer(max_epochs=2).fit(Net(), loader)
    """
    found = {metric.name for metric in analyse(tmp_path, train=train).metrics if metric.selected}
    assert found == {"train_loss", "val_loss", "gap"}


MEASURED = """
import pytorch_lightning as L
from torchmetrics import Accuracy
class Net(L.LightningModule):
    def __init__(self):
        self.measures = {'train_acc': Accuracy()}
        self.set_all(self.measures)
    def set_all(self, given):
        for key, value in given.items():
            setattr(self, key, value)
    def training_step(self, batch, index):
        loss = self.loss_function(self.layer(batch))
        self.log('train_loss', loss)
        for name in self.measures.keys():
            self.log(name, getattr(self, name)(self.layer(batch)))
        return loss
    def test_step(self, batch, index):
        self.log('test_loss', self.layer(batch).mean())
trainer = L.Trainer(max_epochs=2)
trainer.fit(Net(), loader)
"""


def test_what_is_logged_beside_objects_that_are_set_by_computed_names_is_reported(tmp_path):
    found = {metric.name for metric in analyse(tmp_path, train=MEASURED).metrics if metric.selected}
    assert found == {"train_loss", "{name}"}


def test_what_a_step_for_tests_logs_counts_where_the_program_tests(tmp_path):
    train = MEASURED + "trainer.test(Net(), loader)\n"
    assert "test_loss" in {metric.name for metric in analyse(tmp_path, train=train).metrics if metric.selected}


def test_a_method_that_is_given_a_name_and_a_value_logs_where_it_is_called(tmp_path):
    train = """
    import pytorch_lightning as L
    class Base(L.LightningModule):
        def log_meter(self, name, meter):
            value = meter.compute() if hasattr(meter, 'compute') else meter
            self.log(name, value)
    class Net(Base):
        def training_step(self, batch, index):
            loss = self.layer(batch).mean()
            self.log_meter(f'{self.phase}_loss', loss)
            for key in self.parts:
                self.log(key, self.parts[key])
            return loss
    L.Trainer(max_epochs=2).fit(Net(), loader)
    """
    found = {metric.variable for metric in analyse(tmp_path, train=train).metrics if metric.selected}
    assert found == {"loss", "self.parts[key]"}


@pytest.mark.parametrize(("given", "count"), [("", 0), (", verbose=1", 1)])
def test_a_checkpoint_that_says_nothing_shows_no_loss(tmp_path, given, count):
    train = f"""
    import keras
    model.compile(optimizer='adam', loss='mse')
    best = keras.callbacks.ModelCheckpoint('best.h5', monitor='loss'{given})
    model.fit(x, y, epochs=3, verbose=0, callbacks=[best])
    """
    assert len(names(analyse(tmp_path, train=train))) == count


def test_metrics_of_a_keras_model_may_be_listed_by_a_property_that_a_class_below_gives_anew(tmp_path):
    train = """
    import keras
    class Base:
        @property
        def metrics(self):
            return ['accuracy']
        def fit(self, x, y):
            self.network.compile(loss='mse', metrics=self.metrics)
            self.network.fit(x, y, epochs=3)
    class Spots(Base):
        @property
        def metrics(self):
            return [rmse, f1_score]
    Spots().fit(x, y)
    """
    assert {"fit:rmse", "fit:f1_score"} <= set(names(analyse(tmp_path, train=train)))


def test_a_metric_of_ones_own_is_called_by_the_default_of_its_name(tmp_path):
    train = """
    import keras
    class Sparse(keras.metrics.Metric):
        def __init__(self, ignored=0, name='hits'):
            super().__init__(name=name)
    model.compile(loss='mse', metrics=[Sparse(1)])
    model.fit(x, y, epochs=3)
    """
    assert set(names(analyse(tmp_path, train=train))) == {"fit:loss", "fit:hits"}


def test_what_a_trainer_gives_of_an_evaluation_that_is_printed_is_a_mapping_of_metrics(tmp_path):
    train = """
    from transformers import Trainer
    trainer = Trainer(model=model, train_dataset=a)
    trainer.train()
    print(trainer.evaluate(b))
    """
    assert names(analyse(tmp_path, train=train))["trainer.evaluate()"] == "mapping"


@pytest.mark.parametrize("nothing", ["validation_data=None", "validation_split=0.0"])
def test_keras_fit_that_is_given_nothing_to_validate_with_reports_no_validation(tmp_path, nothing):
    train = f"""
    import keras
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse')
    model.fit(x, y, epochs=3, {nothing})
    """
    assert set(names(analyse(tmp_path, train=train))) == {"fit:loss"}


def test_a_callback_of_lightning_logs_by_the_module_that_it_is_given(tmp_path):
    train = """
    import lightning as L
    class Net(L.LightningModule):
        def training_step(self, batch, index):
            loss = self.layer(batch).mean()
            return {'loss': loss, 'noise': loss * 2}
    class Note(L.Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, index):
            pl_module.log('train/noise', outputs['noise'])
        def on_train_epoch_end(self, trainer, net: L.LightningModule):
            net.log('gap', (net.weight - net.before).norm())
    trainer = L.Trainer(callbacks=[Note()])
    trainer.fit(Net(), loader)
    """
    assert {metric.name for metric in analyse(tmp_path, train=train).metrics} == {"train/noise", "gap"}


@pytest.mark.parametrize(
    ("made", "logged"),
    [
        ("SAC('MlpPolicy', env, verbose=1)", {"actor_loss", "critic_loss", "ent_coef", "ent_coef_loss"}),
        ("DQN('MlpPolicy', env, tensorboard_log='runs')", {"loss"}),
        ("Own('MlpPolicy', env, verbose=2)", {"actor_loss", "critic_loss"}),
        ("SAC('MlpPolicy', env, verbose=0)", None),
        ("DQN('MlpPolicy', env)", None),
    ],
)
def test_an_algorithm_of_stable_baselines_reports_what_it_logs(tmp_path, made, logged):
    train = f"""
    from stable_baselines3 import DQN, SAC, TD3
    from stable_baselines3.common.callbacks import EvalCallback
    from worlds import env
    class Own(TD3):
        pass
    model = {made}
    model.learn(total_timesteps=900, callback=EvalCallback(env))
    """
    each = {"rollout/ep_rew_mean", "rollout/ep_len_mean", "time/fps", "time/time_elapsed"}
    evaluated = {"eval/mean_reward", "eval/mean_ep_length"}
    expected = each | evaluated | {f"train/{name}" for name in logged} if logged is not None else set()
    findings = analyse(tmp_path, train=train)
    assert set(names(findings)) == {f"fit:{name}" for name in expected}
    assert (findings.main_loop.kind, findings.main_loop.variable) == ("call", "model.learn")
    # What is logged in training is shown with the next rollout, which a short one does not come to.
    assert {each.name.startswith("train/") for each in findings.metrics if each.confidence < SURE} <= {True}
    assert {each.name.startswith("train/") for each in findings.metrics if each.confidence >= SURE} <= {False}


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("model.evaluate(x, y)", {"loss", "accuracy"}),
        ("print(model.evaluate(x, y))", {"loss", "accuracy"}),
        ("print(model.evaluate(x, y)[1])", set()),
        ("model.evaluate(x, y, verbose=0)", set()),
        ("score = model.evaluate(x, y)", set()),
        ("judge.evaluate(x, y)", set()),
    ],
)
def test_what_an_evaluation_of_keras_shows_is_a_metric_where_nothing_is_done_with_it(tmp_path, call, shown):
    train = f"""
    import keras
    from judges import judge
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse', metrics=['accuracy'])
    model.fit(x, y, epochs=3)
    {call}
    """
    found = names(analyse(tmp_path, train=train))
    assert set(found) == {"fit:loss", "fit:accuracy", *(f"evaluate:{name}" for name in shown)}


@pytest.mark.parametrize(("validated", "first"), [("", "Accuracy"), (", validation_data=(x, y)", "val_accuracy")])
def test_what_is_printed_after_fitting_leads_over_what_keras_shows_of_training_data(tmp_path, validated, first):
    train = f"""
    import keras
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse', metrics=['accuracy'])
    model.fit(x, y, epochs=3{validated})
    loss, accuracy = model.evaluate(x, y, verbose=0)
    print('Accuracy: %.2f' % (accuracy * 100))
    """
    assert main_metric(analyse(tmp_path, train=train).metrics).name == first


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        ("NeuralNetClassifier(Net)", {"train_loss", "valid_loss", "valid_acc", "dur"}),
        ("NeuralNetRegressor(Net, train_split=None)", {"train_loss", "dur"}),
        ("Own(Net)", {"train_loss", "valid_loss", "dur"}),
        ("NeuralNet(Net, callbacks=[EpochScoring('f1')])", {"train_loss", "valid_loss", "f1", "dur"}),
        ("NeuralNetClassifier(Net, verbose=0)", set()),
    ],
)
def test_a_net_of_skorch_shows_a_table(tmp_path, made, shown):
    train = f"""
    import torch
    from skorch import NeuralNet, NeuralNetClassifier, NeuralNetRegressor
    from skorch.callbacks import EpochScoring
    class Net(torch.nn.Module):
        pass
    class Own(NeuralNetRegressor):
        pass
    net = {made}
    net.fit(x, y)
    """
    assert set(names(analyse(tmp_path, train=train))) == {f"fit:{name}" for name in shown}


def test_a_trainer_for_instructions_logs_how_many_tokens_are_right(tmp_path):
    train = """
    from trl import SFTTrainer
    trainer = SFTTrainer(model=model, train_dataset=pages)
    trainer.train()
    """
    assert "fit:mean_token_accuracy" in names(analyse(tmp_path, train=train))


@pytest.mark.parametrize(("given", "foreseen"), [("rows", True), ("{'near': rows, 'far': rows}", False)])
def test_evaluations_of_several_sets_have_the_names_that_runs_report(tmp_path, given, foreseen):
    train = f"""
    from transformers import Trainer, TrainingArguments
    from data import load
    rows = load()
    args = TrainingArguments("out", eval_strategy="epoch")
    trainer = Trainer(model=load(), args=args, train_dataset=rows, eval_dataset={given})
    trainer.train()
    """
    found = {
        metric.name for metric in analyse(tmp_path, train=train, data="def load():\\n    return open('a')\\n").metrics
    }
    assert ("eval_loss" in found) is foreseen
    assert "train_loss" in found
