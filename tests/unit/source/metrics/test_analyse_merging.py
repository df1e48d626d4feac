"""One value reported in several places or under several names is one metric, at the place that surely runs."""

from __future__ import annotations

from textwrap import dedent

import pytest
from analysed_projects import analyse, looped

HEAD = "wandb_log = False\nimport wandb\nwriter = library.Writer()\n"


def selected(findings):
    return {metric.name: metric for metric in findings.metrics if metric.selected}


@pytest.mark.parametrize(
    "second",
    ["wandb.log({'test/accuracy': value})", "accelerator.log({'test/accuracy': value.item()})",
     "writer.add_scalar('test/accuracy', (model(x) > 0).float().mean(), epoch)"],
)  # fmt: skip
def test_a_value_printed_and_tracked_under_another_name_is_one_metric_with_an_alias(tmp_path, second):
    report = f"value = (model(x) > 0).float().mean()\nprint('Accuracy: %.2f' % (100. * value))\n{second}"
    findings = analyse(tmp_path, train=looped(report, HEAD))
    (metric,) = selected(findings).values()
    alias = {"Accuracy": "test/accuracy", "test/accuracy": "Accuracy"}[metric.name]
    assert f"also reported as '{alias}'" in metric.why


def test_a_value_handed_to_the_only_logger_that_shows_it_is_one_metric(tmp_path):
    log = """
    def log_training(reduced, step):
        writer.add_scalar('training.loss', reduced, step)
    """
    report = "mean = loss.item()\nprint('Train loss {} {:.6f}'.format(i, mean))\nlog_training(mean, i)"
    findings = analyse(tmp_path, train=looped(report, HEAD + "\n" + dedent(log)))
    assert [(metric.name, metric.kind) for metric in selected(findings).values()] == [("Train loss", "loss")]


def test_two_names_given_equal_calls_are_two_metrics(tmp_path):
    helper = "def score():\n    return (model(loader[0][0]) > 0).float().mean().item()\n"
    report = "before = score()\noptimizer.step()\nafter = score()\nprint(f'accuracy {before:.3f} then {after:.3f}')"
    assert len(selected(analyse(tmp_path, train=looped(report, helper)))) == 2


def test_the_report_that_surely_runs_is_preferred_to_one_that_a_setting_switches_on(tmp_path):
    report = "if wandb_log:\n    wandb.log({'gap': loss.item()})\nprint(f'gap {loss.item():.3f}')"
    (metric,) = selected(analyse(tmp_path, train=looped(report, HEAD))).values()
    assert metric.sink == "print"


@pytest.mark.parametrize("end", ["sys.exit(1)", "raise FloatingPointError(loss)", "sys.exit()", "exit('diverged')"])
def test_what_a_training_says_as_it_gives_up_is_not_where_its_loss_is_read(tmp_path, end):
    alarm = f"if not math.isfinite(loss.item()):\n    print('Loss is {{}}, stopping'.format(loss.item()))\n    {end}\n"
    head = HEAD + "import math, sys\n"
    (metric,) = selected(analyse(tmp_path, train=looped(alarm + "wandb.log({'gap': loss.item()})", head))).values()
    assert metric.sink == "wandb"
    assert selected(analyse(tmp_path, train=looped(alarm, head))) == {}


def test_a_result_that_a_program_ends_with_is_a_metric(tmp_path):
    report = "if i == 9:\n    print('final loss', loss.item())\n    sys.exit(0)"
    assert set(selected(analyse(tmp_path, train=looped(report, "import sys\n")))) == {"final loss"}


@pytest.mark.parametrize(("name", "taken"), [("final loss", "loss"), ("Last test loss", "test loss"), ("gap", "gap")])
def test_a_name_for_the_end_of_a_loop_is_none_for_what_is_reported_in_it(tmp_path, name, taken):
    """The loop reports every tenth value, and the last one is another than the final one."""
    report = "value = loss.item()\nif i % 10 == 0:\n    print(f'{value:.4f}')"
    (metric,) = selected(analyse(tmp_path, train=f"{looped(report)}\nprint(f'{name}: {{value:.4f}}')\n")).values()
    assert metric.name == taken
    assert metric.line <= len(looped(report).splitlines())


@pytest.mark.parametrize("test", ["i % 10 == 0", "rank == 0", "loss.item() < 1"])
def test_conditions_of_progress_of_rank_and_of_results_switch_nothing_on(tmp_path, test):
    report = f"if {test}:\n    wandb.log({{'gap': loss.item()}})\nprint(f'gap {{loss.item():.3f}}')"
    (metric,) = selected(analyse(tmp_path, train=looped(report, HEAD + "rank = 0\n"))).values()
    assert metric.sink == "wandb"


def test_what_branches_for_training_and_validation_report_is_told_apart(tmp_path):
    log = """
    class Log:
        def __init__(self):
            self.is_train, self.sums = True, {}
        def add(self, loss):
            self.sums['loss'] = loss.sum().item()
        def flush(self):
            if self.is_train:
                loss = self.sums['loss'] / 3
                print(f'{loss:.4f}')
            else:
                loss = self.sums['loss'] / 3
                print(f'{loss:.4f}')

    log = Log()
    """
    report = "log.add(loss)\nlog.flush()"
    findings = analyse(tmp_path, train=looped(report, dedent(log)))
    assert sorted(selected(findings)) == ["train loss", "val loss"]


def test_what_is_stored_under_a_key_and_shown_later_is_one_metric(tmp_path):
    log = """
    class Logger:
        def __init__(self):
            self.rows = {}
        def store(self, **values):
            for key, value in values.items():
                self.rows.setdefault(key, []).append(value)
                self.rows[key] = self.rows[key]
        def show(self, key):
            mean = sum(self.rows[key]) / len(self.rows[key])
            print('Average' + key, mean)

    logger = Logger()
    """
    report = "logger.store(LossPi=loss.item())\nlogger.show('LossPi')"
    findings = analyse(tmp_path, train=looped(report, dedent(log)))
    assert list(selected(findings)) == ["LossPi"]


def test_names_that_differ_in_case_alone_are_told_apart(tmp_path):
    train = looped("print('loss %.3f' % loss.item())\ncheck()", """
    def check():
        error = ((model(loader[0][0]) - 1) ** 2).mean()
        print('Loss {:.3f}'.format(error))
    """)  # fmt: skip
    metrics = selected(analyse(tmp_path, train=train))
    assert len({name.lower() for name in metrics}) == len(metrics) == 2


def test_a_tag_loses_the_settings_that_stand_in_it(tmp_path):
    before = "import argparse\nargs = argparse.ArgumentParser().parse_args()\n" + HEAD
    report = "writer.add_scalar('run_{}/losses/box'.format(args.session), loss.item(), i)"
    assert list(selected(analyse(tmp_path, train=looped(report, before)))) == ["losses/box"]


def test_pairs_of_a_text_and_a_value_are_values_under_tags(tmp_path):
    log = """
    def summary(pairs, step):
        for tag, value in pairs:
            writer.add_scalar(tag, value, step)
    """
    before = HEAD + dedent(log)
    report = "summary([('train/box', loss.item()), ('train/gap', (model(x) - y).abs().mean().item())], i)"
    assert sorted(selected(analyse(tmp_path, train=looped(report, before)))) == ["train/box", "train/gap"]


@pytest.mark.parametrize(
    ("text", "names", "directions"),
    [
        ("'Top 1-err {m.val:.4f} ({m.avg:.4f})'.format(m=top1)", ["Top 1-err"], {"lower"}),
        ("'time cost: %f' % (time.time() - start)", ["time cost"], {"lower"}),
        ("'Data: {m.val:.3f} ({m.avg:.3f})'.format(m=data_time)", ["Data time"], {"lower"}),
    ],
)
def test_names_and_directions_follow_the_text_that_names_the_value_first(tmp_path, text, names, directions):
    meter = """
    class Meter:
        def __init__(self):
            self.val = self.avg = 0
        def update(self, value):
            self.val = self.avg = value

    top1, data_time, start = Meter(), Meter(), time.time()
    """
    report = f"""
    top1.update((model(x) > 0).float().mean().item())
    data_time.update(time.time() - start)
    peak = torch.cuda.max_memory_allocated()
    print({text})
    """
    metrics = selected(analyse(tmp_path, train=looped(report, dedent(meter))))
    assert list(metrics) == names
    assert {metric.direction for metric in metrics.values()} == directions
    assert {metric.kind for metric in metrics.values()} <= {"quality", "resource", "speed"}


def test_a_name_given_another_value_is_another_metric(tmp_path):
    helper = (
        "def score(data):\n    return [(model(one) - 1).abs().mean().item() for one, _ in data]\nheld = loader[:1]\n"
    )
    train = looped("gap = score(loader)\nprint(f'gap {gap}')", helper) + "gap = score(held)\nprint(f'held gap {gap}')\n"
    found = selected(analyse(tmp_path, train=train))
    assert [metric.variable for metric in found.values()] == ["gap", "gap"]
    again = train.replace("gap = score(held)\n", "")
    assert len(selected(analyse(tmp_path / "again", train=again))) == 1


def test_both_branches_of_a_condition_are_recorded_under_their_names(tmp_path):
    report = "if loss > 1:\n    print(f'high loss {loss:.2f}')\nelse:\n    print(f'low loss {loss:.2f}')"
    assert set(selected(analyse(tmp_path, train=looped(report)))) == {"high loss", "low loss"}


def test_least_mean_and_spread_of_a_list_are_metrics_of_their_own(tmp_path):
    report = (
        "kept.append(loss.item())\nprint(f'{np.mean(kept):.2f} {np.std(kept):.2f} {min(kept):.2f} {max(kept):.2f}')"
    )
    found = analyse(tmp_path, train=looped(report, "import numpy as np\nkept = []")).metrics
    assert len([metric for metric in found if metric.variable == "kept"]) == 4


def test_sums_of_different_things_are_metrics_of_their_own(tmp_path):
    report = (
        "nll, kl = nll + loss.item(), kl + (model(x) ** 2).mean().item()\nn = i + 1\n"
        "print('PPL: %.2f, bound: %.2f, KL: %.2f' % (np.exp(nll / n), np.exp((nll + kl) / n), kl / n))"
    )
    found = analyse(tmp_path, train=looped(report, "import numpy as np\nnll = kl = 0\n")).metrics
    assert [metric.name for metric in found if metric.selected] == ["KL", "PPL", "bound"]


def test_two_rates_of_one_time_are_two_metrics(tmp_path):
    before = "kept, began = {'rows': 0, 'words': 0}, time.time()\n"
    report = (
        "spent = time.time() - began\n"
        "print('{:.2f} rows/s, {:.2f} words/s'.format(kept['rows'] * 1.0 / spent, kept['words'] * 1.0 / spent))"
    )
    assert len([metric for metric in analyse(tmp_path, train=looped(report, before)).metrics if metric.selected]) == 2


def test_values_of_texts_that_begin_with_other_parts_of_the_data_are_apart(tmp_path):
    report = """
    gap = loss.item()
    gap = 0.5 * gap
    print('Train epoch: %d : gap: %f' % (epoch, gap))
    gap = (model(x) - y).abs().mean().item()
    gap = 0.5 * gap
    print('Val epoch: %d : gap: %f' % (epoch, gap))
    """
    metrics = analyse(tmp_path, train=looped(report)).metrics
    assert sorted(metric.name for metric in metrics) == ["train gap", "val gap"]


def test_times_from_two_readings_of_a_clock_are_two_metrics(tmp_path):
    report = """
    began = time.time()
    prepare(x)
    print('preparing took', time.time() - began)
    began = time.time()
    move(x)
    print('moving took', time.time() - began)
    """
    assert len(names_of(analyse(tmp_path, train=looped(report)))) == 2


def test_a_perplexity_is_another_value_than_the_loss_that_it_is_the_power_of(tmp_path):
    report = "total = loss.item()\nprint('avg. loss %.2f, avg. ppl %.2f' % (total / i, math.exp(total / len(x))))"
    assert names_of(analyse(tmp_path, train=looped(report, "import math"))) == ["loss", "ppl"]


def test_loops_one_after_the_other_report_under_names_of_their_own(tmp_path):
    train = """
    import wandb
    for step in range(100):
        info = agent.update(draw())
        for key, value in info.items():
            wandb.log({f'before/{key}': value}, step=step)
    for step in range(1000):
        info = agent.update(draw())
        for key, value in info.items():
            wandb.log({f'training/{key}': value}, step=step)
    """
    assert len(names_of(analyse(tmp_path, train=train))) == 2


def names_of(findings):
    return sorted(metric.name for metric in findings.metrics if metric.selected)


def test_a_score_of_names_that_are_given_other_values_in_between_is_another_metric(tmp_path):
    report = """
    from sklearn.metrics import accuracy_score
    truth = y > 0
    found = model(x) > 0
    print('Accuracy (positive)', accuracy_score(truth, found))
    truth = y >= 1
    found = model(x) >= 1
    print('Accuracy (large)', accuracy_score(truth, found))
    """
    assert len(selected(analyse(tmp_path, train=looped(report, HEAD)))) == 2


def test_a_relative_change_is_neither_the_metric_it_is_made_of_nor_called_after_it(tmp_path):
    report = """
    recall, base = len(found) / len(loader), len(known) / len(loader)
    print(f'recall {recall:.4f} vs {base:.4f} (+{100 * (recall / max(base, 1e-9) - 1):.0f}%)')
    """
    metrics = analyse(tmp_path, train=looped(report, "found, known = loader[:2], loader[:1]\n")).metrics
    assert "recall" in [metric.expression for metric in metrics]
    assert not [metric for metric in metrics if "1e-9" in metric.expression.replace("1e-09", "1e-9")]


def test_a_metric_is_not_taken_for_its_quotient_by_another_and_a_count_is_taken_for_its_share(tmp_path):
    report = """
    recall, known = (model(x) > 0).float().mean().item(), (model(y) > 0).float().mean().item()
    hits += (model(x) > 0).sum().item()
    print(f'recall {recall:.3f}, of the known {recall / known:.3f}')
    print(f'acc {hits} ({hits / total:.3f})')
    """
    metrics = analyse(tmp_path, train=looped(report, "hits, total = 0, 9\n")).metrics
    assert {metric.name: metric.expression for metric in metrics} == {"recall": "recall", "acc": "hits / total"}


def test_two_clocks_are_two_metrics_though_their_text_is_one(tmp_path):
    report = """
    start = time.time()
    optimizer.step()
    print('stepped in', time.time() - start)
    start = time.time()
    optimizer.step()
    again = time.time() - start
    print('stepped again in', again)
    """
    found = selected(analyse(tmp_path, train=looped(report)))
    assert len([metric for metric in found.values() if metric.kind == "speed"]) == 2
    assert not [metric for metric in found.values() if "also reported" in metric.why]


@pytest.mark.parametrize(
    ("report", "values"),
    [
        ("print(f'gap {gap:.4f} accuracy {1 - gap:.4f}')", {"gap": "gap", "accuracy": "1 - gap"}),
        ("print(f'gap {gap:.4f}')\nprint(f'val_gap loss {gap / 2:.4f}')", {"gap": "gap", "val_gap loss": "gap / 2"}),
        ("print('mse', gap, 'rmse', gap ** 0.5)", {"mse": "gap", "rmse": "gap ** 0.5"}),
        (
            "print('error', gap * 2, 'iou', 1 - gap, 'mae', gap ** 0.5)",
            {"error": "gap * 2", "iou": "1 - gap", "mae": "gap ** 0.5"},
        ),
        ("print('loss %.2f%% loss %.3f' % (100 * gap, gap))", {"loss": "100 * gap"}),
    ],
)
def test_what_is_computed_of_a_value_under_a_name_of_its_own_is_another_one(tmp_path, report, values):
    findings = analyse(tmp_path, train=looped(f"gap = loss.item()\n{report}", HEAD))
    assert {name: metric.expression for name, metric in selected(findings).items()} == values
