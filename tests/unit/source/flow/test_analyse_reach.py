"""Reports that run by way of constructors, callbacks, functions handed on and configuration files."""

from __future__ import annotations

from textwrap import dedent

from analysed_projects import HEAD, analyse, looped, names

STEPS = """
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
"""
TRAINER = f"""
class Trainer:
    def __init__(self, hooks=()):
        self.hooks = list(hooks)
    def run(self):
        for epoch in range(2):
            for x, y in loader:
{STEPS.replace("            ", " " * 16)}
                self.loss = loss.item()
            for hook in self.hooks:
                hook()
"""


def script(body, head=TRAINER):
    return looped("", head).partition("\nfor epoch")[0] + "\n" + dedent(body)


def test_a_method_handed_on_by_a_constructor_reports_while_training(tmp_path):
    body = """
    class Printer:
        def __init__(self, trainer):
            self.trainer = trainer
            trainer.hooks.append(self.report)
        def report(self):
            print('train loss', self.trainer.loss)

    trainer = Trainer()
    Printer(trainer)
    trainer.run()
    """
    assert list(names(analyse(tmp_path, train=script(body)))) == ["self.trainer.loss"]


def test_a_quality_reported_by_an_object_made_in_the_loop_is_a_metric(tmp_path):
    before = """
    class Evaluation:
        def __init__(self, model):
            self.model = model
            self.accuracy = self.measure()
        def measure(self):
            accuracy = (self.model(loader[0][0]) > 0).float().mean().item()
            print('accuracy', accuracy)
            return accuracy
    """
    assert list(names(analyse(tmp_path, train=looped("Evaluation(model)", before)))) == ["accuracy"]


def test_a_function_registered_by_a_decorator_reports_while_training(tmp_path):
    before = """
    handlers = []
    def on(event):
        def keep(function):
            handlers.append(function)
            return function
        return keep

    @on('step')
    def show(state):
        print('val loss', state['loss'])
    """
    report = "for one in handlers:\n    one({'loss': loss.item()})"
    findings = analyse(tmp_path, train=looped(report, before))
    assert [metric.name for metric in findings.metrics if metric.selected] == ["val loss"]


def test_a_loss_divided_by_the_epoch_stays_a_metric_and_a_schedule_of_it_does_not(tmp_path):
    helper = "def measure(model, x):\n    return (model(x) ** 2).mean()\n"
    report = """
    scaled = measure(model, x) / (epoch + 1)
    decay = 1 / (epoch + 1)
    print('loss', scaled, 'after', decay)
    """
    findings = analyse(tmp_path, train=looped(report, helper))
    assert list(names(findings)) == ["scaled"]
    assert {rejection.variable: rejection.reason for rejection in findings.rejected}["decay"] == "counter"


def test_objects_named_in_configuration_files_run(tmp_path):
    (tmp_path / "config.yaml").write_text("model:\n  target: nets.plain.Net\n")
    net = """
    class Net:
        def training_step(self, value):
            print('step loss', value.loss(1).mean())
    """
    train = """
    import importlib, yaml

    def make(config):
        module, name = config['target'].rsplit('.', 1)
        return getattr(importlib.import_module(module), name)()

    make(yaml.safe_load(open('config.yaml'))['model'])
    """
    findings = analyse(tmp_path, train=train, nets__plain=net)
    assert "nets/plain.py" in findings.files


def test_a_while_loop_is_named_by_what_its_condition_reads(tmp_path):
    train = """
    shown = step = 0
    while step <= 100:
        shown += 1
        for x, y in loader:
            step += 1
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
        print('loss', loss.item())
    """
    assert analyse(tmp_path, train=script(train, "")).main_loop.variable == "step"


def test_a_difference_of_dates_is_a_duration(tmp_path):
    before = "from datetime import datetime\nstart = datetime.now().replace(microsecond=0)\n"
    report = "print('elapsed', datetime.now().replace(microsecond=0) - start)"
    (metric,) = analyse(tmp_path, train=looped(report, before)).metrics
    assert (metric.kind, metric.direction) == ("speed", "lower")


def test_values_that_depend_on_each_other_in_circles_keep_their_origin(tmp_path):
    curves = """
    def curves(hit, score, target):
        hit, score = hit[score], score[hit]
        p, r = torch.zeros(3), torch.zeros(3)
        for c in range(3):
            i = score == c
            true, false = hit[i].cumsum(0), (1 - hit[i]).cumsum(0)
            recall = true / (target[c] + 1e-9)
            precision = true / (true + false)
            r[c], p[c] = recall[-1], precision[-1]
        f = 2 * p * r / (p + r)
        i = f.argmax()
        p, r, f = p[i], r[i], f[i]
        hit = (r * target).round()
        false = (hit / (p + 1e-9) - hit).round()
        return hit, false, p, r, f
    """
    report = """
    hit, false, p, r, f = curves((model(x) > 0).float(), model(x), y)
    print('%11.3g%11.3g' % (p.mean(), r.mean()))
    """
    assert set(names(analyse(tmp_path, train=looped(report, curves)))) == {"p", "r"}


def test_a_static_method_of_a_class_makes_no_object_of_it(tmp_path):
    """The base class is asked for a number, and an object is made of the class below it alone."""
    text = HEAD + dedent("""
    class Agent:
        def run(self):
            for epoch in range(2):
                self.learn(epoch)
                print('plain loss', self.last.item())
        def learn(self, epoch):
            for x, y in loader:
                self.last = loss = ((model(x) - y) ** 2).mean() * Agent.scale(epoch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        @staticmethod
        def scale(epoch):
            print('weight loss', (model.weight ** 2).mean().item())
            return 1 / (epoch + 1)
    class Quick(Agent):
        def run(self):
            for epoch in range(2):
                self.learn(epoch)
                print('quick loss', self.last.item() * Agent.scale(epoch))
    def main(made):
        made().run()
    main(Quick)
    """)
    findings = analyse(tmp_path, train=text)
    assert {metric.name for metric in findings.metrics if metric.selected} == {"quick loss", "weight loss"}
