"""Values that libraries report in ways of their own: plotted points, returned logs, Chainer's reporter."""

from __future__ import annotations

import textwrap

import pytest
from analysed_projects import HEAD, STEP, analyse, looped, names


@pytest.mark.parametrize("point", ["np.array([loss.item()])", "torch.Tensor([[loss.item()]])", "loss.item()"])
def test_a_point_that_is_plotted_with_visdom_is_a_value(tmp_path, point):
    report = f"vis.line(Y={point}, X=np.array([epoch]), win='loss', update='append')"
    before = "import numpy as np\nimport visdom\nvis = visdom.Visdom()\n"
    assert names(analyse(tmp_path, train=looped(report, before))) == {"loss": "value"}


def test_a_line_that_is_drawn_is_no_value(tmp_path):
    report = """
    top, left = (float(each) for each in model(x)[0, :2])
    pen.line([(left, top), (left, top + 1)], fill='red')
    print('loss', loss.item())
    """
    assert set(names(analyse(tmp_path, train=looped(report, "from picture import pen")))) == {"loss"}


def test_what_lightning_is_handed_back_to_log_is_reported(tmp_path):
    module = """
    import pytorch_lightning as pl
    class Module(pl.LightningModule):
        def training_step(self, batch, index):
            loss, accuracy = self.measure(batch)
            logs = {"accuracy": accuracy}
            logs["entropy"] = self.entropy(batch).item()
            return {"loss": loss, "log": logs}
        def test_epoch_end(self, outputs):
            return {"log": {"test_loss": sum(outputs)}}
    pl.Trainer(max_epochs=2).fit(Module())
    """
    found = {metric.name for metric in analyse(tmp_path, train=textwrap.dedent(module)).metrics if metric.selected}
    assert {"accuracy", "entropy"} <= found
    assert "test_loss" not in found


def test_what_is_given_to_chainers_reporter_is_reported(tmp_path):
    report = "reporter.report({'loss': loss.item(), 'perplexity': loss.item() ** 2}, model)"
    findings = analyse(tmp_path, train=looped(report, "from chainer import reporter\n"))
    assert {metric.name for metric in findings.metrics} == {"loss", "perplexity"}


STEPS = f"""
{HEAD}
def fit(count):
    for step in range(count):
        for x, y in loader:
{textwrap.indent(STEP.strip(), " " * 12)}
        print("loss", loss.item())
"""


@pytest.mark.parametrize(
    "around",
    ["for i in range(num_gpus):", "for i, session in enumerate(schedule):", "for device in devices:",
     "for archive_name in archives:"],
)  # fmt: skip
def test_a_loop_over_devices_sessions_or_names_repeats_trainings(tmp_path, around):
    findings = analyse(tmp_path, train=f"{STEPS}\nfrom settings import *\n{around}\n    fit(3)\n")
    assert findings.main_loop is not None
    assert findings.main_loop.variable == "step"


def test_a_model_of_another_library_is_not_fitted_as_kerass_are(tmp_path):
    models = """
    import catboost
    import keras
    class Net:
        def fit(self, x, y):
            self.model = keras.Sequential()
            self.model.compile(loss="mse", optimizer="sgd")
            self.model.fit(x, y)
    class Trees(Net):
        def fit(self, x, y):
            self.model = catboost.CatBoostRegressor()
            self.model.fit(x, y, verbose=100)
    from data import x, y
    Net().fit(x, y)
    Trees().fit(x, y)
    """
    findings = analyse(tmp_path, train=textwrap.dedent(models))
    assert {(metric.variable, metric.line) for metric in findings.metrics} == {("fit:loss", 8), ("fit:learn_RMSE", 12)}
