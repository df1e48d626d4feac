"""Values, loggers and meters that reach from one function or file into another."""

from __future__ import annotations

from analysed_projects import HEAD, analyse, looped, names

METER = """
class Average:
    def __init__(self, name):
        self.name = name
        self.reset()
    def reset(self):
        self.val = self.avg = self.sum = self.count = 0
    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count
    def __str__(self):
        return f'{self.name} {self.val:.3f} ({self.avg:.3f})'
"""

BOARD = """
class Board:
    def __init__(self, meters):
        self.meters = meters
    def show(self, step):
        print(' '.join([str(step)] + [str(meter) for meter in self.meters]))
"""


def test_returned_tuple_is_followed_to_the_caller(tmp_path):
    engine = (
        HEAD
        + """
def run_epoch():
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item(), (model(x) > 0).float().mean().item(), len(loader)
"""
    )
    train = """
    from lib.engine import run_epoch
    for epoch in range(3):
        a, b, n = run_epoch()
        print('%d %.3f %.3f %d' % (epoch, a, b, n))
    """
    findings = analyse(tmp_path, train=train, lib__engine=engine)
    assert names(findings) == {"a": "value", "b": "value"}
    assert (findings.main_loop.file, findings.main_loop.variable) == ("train.py", "epoch")
    assert {rejection.variable: rejection.reason for rejection in findings.rejected}["n"] == "constant"


def test_meter_formatted_by_attribute_fields_is_read_beside(tmp_path):
    report = "losses.update(loss.item(), x.size(0))\nprint('Loss {m.val:.3f} ({m.avg:.3f})'.format(m=losses))"
    (metric,) = analyse(tmp_path, train=looped(report, METER + "losses = Average('loss')")).metrics
    assert (metric.variable, metric.capture.how, metric.capture.beside, metric.capture.reads) == (
        "losses", "beside", "losses", "avg")  # fmt: skip


def test_meters_shown_by_another_object(tmp_path):
    report = "losses.update(loss.item())\nspeed.update(time.time() - start)\nboard.show(i)"
    before = (
        METER
        + BOARD
        + "losses = Average('l')\nspeed = Average('s')\nboard = Board([losses, speed])\nstart = time.time()"
    )
    findings = analyse(tmp_path, train=looped(report, before))
    assert names(findings) == {"losses": "beside", "speed": "beside"}
    captures = {metric.variable: metric.capture for metric in findings.metrics}
    assert (captures["losses"].beside, captures["losses"].reads) == ("losses", "avg")


def test_logger_that_gives_attributes_by_name(tmp_path):
    logger = (
        METER
        + """
from collections import defaultdict
class Logger:
    def __init__(self):
        self.meters = defaultdict(lambda: Average(''))
    def update(self, **values):
        for name, value in values.items():
            self.meters[name].update(value)
    def __getattr__(self, name):
        return self.meters[name]
    def __str__(self):
        return ' '.join(str(one) for one in self.meters.values())
"""
    )
    train = looped(
        "log.update(loss=loss.item())\nprint('final {top.avg:.2f}'.format(top=log.acc1))\nprint(log)",
        logger + "log = Logger()",
    )
    captures = names(analyse(tmp_path, train=train))
    assert captures["loss"] == "value"
    assert captures["log.acc1"] == "beside"


def test_attribute_set_by_a_trainer_and_read_by_a_callback(tmp_path):
    trainer = (
        HEAD
        + """
class Trainer:
    def __init__(self):
        self.callback = None
    def run(self):
        self.step = 0
        while True:
            x, y = loader[0]
            self.loss = ((model(x) - y) ** 2).mean()
            self.loss.backward()
            optimizer.step()
            self.callback(self)
            self.step += 1
"""
    )
    train = """
    from lib.trainer import Trainer
    trainer = Trainer()
    def told(trainer):
        print(f'{trainer.step}: loss {trainer.loss.item():.3f}')
    trainer.callback = told
    trainer.run()
    """
    findings = analyse(tmp_path, train=train, lib__trainer=trainer)
    assert names(findings) == {"trainer.loss": "value"}
    assert (findings.main_loop.file, findings.main_loop.kind) == ("lib/trainer.py", "while")


def test_functions_nobody_calls_are_not_reported(tmp_path):
    unused = "def other(x):\n    print('unused loss', model(x).mean().item())\n"
    findings = analyse(tmp_path, train=looped("print('loss', loss.item())", unused))
    assert list(names(findings)) == ["loss"]


def test_base_class_holds_the_loop_and_the_subclass_the_step(tmp_path):
    base = """
    class Base:
        def __init__(self, model):
            self.model = model
        def train(self):
            for epoch in range(3):
                log = {'epoch': epoch}
                log.update(self.run_epoch(epoch))
                for key, value in log.items():
                    print('    {:15s}: {}'.format(key, value))
    """
    train = (
        HEAD
        + """
from lib.base import Base
class Own(Base):
    def run_epoch(self, epoch):
        for x, y in loader:
            loss = ((self.model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
        return {'loss': loss.item()}
Own(model).train()
"""
    )
    findings = analyse(tmp_path, train=train, lib__base=base)
    assert (findings.main_loop.file, findings.main_loop.variable) == ("lib/base.py", "epoch")
    (metric,) = findings.metrics
    assert (metric.variable, metric.capture.label, metric.name) == ("value", "key", "{key}")


def test_modules_found_through_path_edits_and_relative_imports(tmp_path):
    train = """
    import os, sys
    sys.path.append(os.path.join(os.path.dirname(__file__), '..'))
    from pkg.sub import report
    from pkg import sub
    """
    findings = analyse(
        tmp_path,
        entry="tools/train.py",
        tools__train=train,
        pkg____init__="",
        pkg__sub="from . import deep\n",
        pkg__deep="x = 1\n",
    )
    assert set(findings.files) >= {"tools/train.py", "pkg/sub.py", "pkg/deep.py"}


def test_modules_below_a_folder_that_is_no_package_are_the_projects_own(tmp_path):
    scores = """
    def show(right, loud=False):
        share = float(right) / 4
        if loud:
            print('Hits = {:.3f}'.format(share))
        return share
    """
    train = looped("rank = kit.deep.scores.show((model(x) > y).sum().item(), loud=True)", "import kit.deep.scores")
    (metric,) = (one for one in analyse(tmp_path, train=train, kit__deep__scores=scores).metrics if one.selected)
    assert (metric.file, metric.name) == ("kit/deep/scores.py", "Hits")
