"""Which values are numbers that tell of the training, by what they were given and by what stands beside them."""

from __future__ import annotations

import pytest
from analysed_projects import HEAD, STEP, analyse, looped, names


def test_mean_and_spread_of_one_list_are_two_metrics(tmp_path):
    report = "losses.append(loss.item())\nprint('loss %.3f +- %.3f' % (np.mean(losses), np.std(losses)))"
    findings = analyse(tmp_path, train=looped(report, "import numpy as np\nlosses = []"))
    assert {metric.name: metric.expression for metric in findings.metrics} == {
        "loss": "np.mean(losses)",
        "loss ±": "np.std(losses)",
    }
    report = "scores.append(evaluate(loss.item()))\nprint(np.mean(scores), np.std(scores))"
    found = analyse(tmp_path / "plain", train=looped(report, "import numpy as np\nscores = []")).metrics
    assert {metric.name: metric.direction for metric in found} == {"scores": "higher", "scores (std)": None}


def test_two_values_of_one_name_are_told_apart_by_their_keys(tmp_path):
    report = "wandb.log({'a': loss.item(), 'b': (loss.item() + 1) / 2})"
    findings = analyse(tmp_path, train=looped(report, "import wandb"))
    assert sorted(metric.name for metric in findings.metrics) == ["a", "b"]


def test_a_value_beside_another_has_its_name(tmp_path):
    report = "low, high = quartiles(loss)\nprint('MRR = %.2f/%.2f' % (low, high))"
    before = "def quartiles(x):\n    return unknown(x), other(x)"
    findings = analyse(tmp_path, train=looped(report, before))
    assert set(names(findings)) == {"low", "high"}


@pytest.mark.parametrize("dash", ["-", "\N{EN DASH}", "\N{EM DASH}"])
def test_a_dash_is_no_part_of_a_name(tmp_path, dash):
    report = f"print(f'Epoch {{epoch:03d}} {dash} Loss: {{loss.item():.4f}}')"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"loss"}


GIVEN = {
    "what a function returns": (
        "value = mean(loss)\nprint(epoch, value)",
        "def mean(x):\n    return x.sum().item() / 4",
    ),
    "what a function adds to what it is given": (
        "value = grown(loss.item())\nprint('%.3f' % value)",
        "def grown(total):\n    total = total + 1\n    return total",
    ),
    "one of what a function returns": (
        "value, _ = both(loss)\nprint(epoch, value)",
        "def both(x):\n    total = 0\n    total += x.item()\n    return total / 4, x",
    ),
    "one that a session fetches": (
        "_, value, rows = sess.run([merged, gap, out])\nprint(epoch, value, rows)",
        "import tensorflow as tf\nsess = tf.Session()\nout = tf.layers.dense(1, 2)\n"
        "merged, gap = tf.summary.merge_all(), tf.reduce_mean(out)",
    ),
    "an item": ("kept['value'] = loss.mean().item()\nprint(epoch, kept['value'])", "kept = {}"),
}


@pytest.mark.parametrize(("report", "before"), GIVEN.values(), ids=GIVEN.keys())
def test_a_name_without_words_is_a_metric_where_it_is_given_one_number(tmp_path, report, before):
    assert len(names(analyse(tmp_path, train=looped(report, before)))) == 1


NO_METRICS = {
    "a prediction of one sample": (
        "rows.append({'image_id': i, 'score': float(loss), 'bbox': x.tolist()})\njson.dump(rows, open('a', 'w'))",
        "import json\nrows = []",
    ),
    "the corners of boxes": (
        "left, top, right = model(x)\nf.write('%s %s %s %s' % (float(loss), left, top, right))",
        "f = open('boxes.txt', 'w')",
    ),
    "what the model gives, in a file": ("preds = model(x)\nnp.save('o.npy', preds.numpy())", "import numpy as np"),
    "a picture": ("wandb.log({'weights': wandb.Histogram(loss.detach())})", "import wandb"),
    "how a tensor is": ("print('grad', loss.requires_grad)", ""),
    "a curve that may be of data": ("energy = model(x)\nplt.plot(energy)", "import matplotlib.pyplot as plt"),
    "a learning rate that is called otherwise": (
        "writer.add_scalar('a', learn_rate)\nlearn_rate *= float(loss)",
        "learn_rate = 1",
    ),
    "the name of a group": ("print('group', loss_computer.group_name(i))", "loss_computer = make()"),
    "a setting that holds a word of a metric": (
        "print('accumulating', self_args.gradient_steps, config.train.gradient_accumulation)",
        "import argparse\nself_args = config = argparse.ArgumentParser().parse_args()",
    ),
    "the flags": ("json.dump({k: flags[k] for k in flags}, open('a', 'w'))\nall_flags = dict(flags)\n"
                  "json.dump(all_flags, open('b', 'w'))", "import json\nfrom absl import flags"),
    "the number of an episode": (
        "log.add_scalar('train/episode', episode, i)\nepisode += 1",
        "episode = 0\nlog = make()",
    ),
    "a message of debugging": ("logging.debug('loss %.3f', loss.item())", "import logging"),
}  # fmt: skip


@pytest.mark.parametrize(("report", "before"), NO_METRICS.values(), ids=NO_METRICS.keys())
def test_what_tells_nothing_of_the_training_is_not_selected(tmp_path, report, before):
    assert names(analyse(tmp_path, train=looped(report, before))) == {}


def test_a_message_of_debugging_counts_where_the_level_is_lowered(tmp_path):
    before = "import logging\nlogging.basicConfig(level=logging.DEBUG)"
    assert names(analyse(tmp_path, train=looped("logging.debug('loss %.3f', loss.item())", before))) == {
        "loss": "value"
    }


def test_what_a_setting_was_passed_to_is_no_setting(tmp_path):
    functions = """
from absl import flags
FLAGS = flags.FLAGS
def step(x, kind):
    return measure(x, kind)
"""
    report = "out = step(loss, FLAGS.kind)\nprint('loss %.3f' % out.loss.item())"
    assert names(analyse(tmp_path, train=looped(report, functions))) == {"out.loss": "value"}


def test_parameters_of_a_functional_model_are_no_settings(tmp_path):
    train = """
import jax, optax
optimizer = optax.adam(1e-3)
def update(params, state, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return loss, optax.global_norm(params)
for step in range(10):
    loss, norm = update(params, state, step)
    print('loss %.3f norm %.3f' % (loss, norm))
"""
    assert set(names(analyse(tmp_path, train=train))) == {"loss", "norm"}


def test_fields_that_other_code_fills_are_followed(tmp_path):
    before = """
from dataclasses import dataclass
@dataclass
class Result:
    fit: float = 0.0
def measured(loss):
    result = Result()
    result.fit += loss.item()
    return result
"""
    report = "result = measured(loss)\nprint(f'{epoch} {result.fit:.3f}')"
    assert names(analyse(tmp_path, train=looped(report, before))) == {"result.fit": "value"}


def test_a_method_that_only_calls_of_other_objects_name_does_not_report(tmp_path):
    step = "".join(f"            {line}\n" for line in STEP.strip().splitlines())
    classes = (
        "class First:\n    def train(self):\n        for x, y in loader:\n" + step
        + "            print('first loss', loss.item())\n    def build(self):\n        return model\n"
        "class Second:\n    def __init__(self):\n        self.first = First()\n        self.first.build()\n"
        "    def train(self):\n        for epoch in range(2):\n          for x, y in loader:\n" + step
        + "            print('second loss', loss.item())\nSecond().train()\n"
    )  # fmt: skip
    findings = analyse(tmp_path, train=HEAD + classes)
    assert [metric.name for metric in findings.metrics if metric.selected] == ["second loss"]


def test_a_share_of_counts_that_is_named_so_is_a_metric(tmp_path):
    before = "hits, found, rows = {}, {}, {}\ncounts = 0\n"
    report = "counts += 1\nprecision = counts / (counts + i)\nprint('precision %.3f of %d' % (precision, counts))"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"precision"}


def test_a_rate_is_another_number_than_the_time_it_is_computed_with(tmp_path):
    report = "spent = time.time() - began\nprint(f'{spent:.2f} s, {len(x) / spent:.1f} rows/s')"
    assert set(names(analyse(tmp_path, train=looped(report, "began = time.time()\n")))) == {"spent", "len(x) / spent"}


def test_a_rate_in_thousands_is_no_time(tmp_path):
    before = "began, rows = time.time(), 0\n"
    report = (
        "rows += len(x)\nspent = time.time() - began\nbar.set_postfix_str(f'rows/s: {rows // spent // 1000}k')\n"
        "print('{},{}'.format(epoch, spent))"
    )
    found = {metric.expression for metric in analyse(tmp_path, train=looped(report, before)).metrics if metric.selected}
    assert found == {"spent", "rows // spent // 1000"}


def test_a_value_that_is_stored_and_named_at_once_has_its_name(tmp_path):
    before = "import json\n"
    report = "record = {}\nrecord['train/loss'] = last = criterion(model(x), y)\nprint(json.dumps(record))"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"last"}


@pytest.mark.parametrize("report", ["print('loss {loss:.3f}'.format(**locals()))", "print('loss %(loss).3f' % vars())"])
def test_a_format_of_all_names_reads_those_it_names(tmp_path, report):
    assert names(analyse(tmp_path, train=looped(report))) == {"loss": "beside"}


def test_a_meter_kept_under_a_key_is_recorded_by_that_key(tmp_path):
    before = "class Meter:\n    avg = 0.0\n    def update(self, x):\n        self.avg += x\nkept = {'fit': Meter()}\n"
    report = "kept['fit'].update(loss.item())\nprint('loss {fit.avg:.3f}'.format(fit=kept['fit']))"
    (metric,) = analyse(tmp_path, train=looped(report, before)).metrics
    assert (metric.selected, metric.capture.beside, metric.capture.reads) == (True, "kept['fit']", "avg")


SHARES = {
    "of what a word may mean that means other things, too": (
        "hits += 1\nap += 1\nprint('hit@1 %.3f, ap: %.3f' % (hits / (i + 1), ap / (i + 1)))",
        "hits = ap = 0",
        {"hits", "ap"},
    ),
    "that a function returns beside another": (
        "em, rest = share(range(3), x)\nprint('em', em)",
        "def share(rows, x):\n    right = 0\n    for row in rows:\n        right += 1\n    return 100.0 * right / 3, x",
        {"em"},
    ),
    "one of a list of them": (
        "recall = count / (i + 1)\nprint('Recall', recall[-1])\ncount += 1",
        "count = 0",
        {"recall"},
    ),
    "in a list that a function fills and returns": (
        "precision, recall = both(range(3))\nprint(', '.join(str(each) for each in precision))\n"
        "print('@ %.3f' % recall[0], ['%s: %.4f' % (k, one) for k, one in zip(range(3), recall)])",
        "def share(rows, k):\n    total = 0.0\n    for row in rows:\n        total += len(set(row)) / float(k)\n"
        "    return total / len(rows)\n"
        "def both(rows):\n    a, b = [], []\n    for k in [5, 10]:\n        a.append(share(rows, k))\n"
        "        b.append(share(rows, k))\n    return a, b",
        {"precision", "recall[0]", "recall"},
    ),
    "in a list that is shown whole": (
        "recall = [share(range(3), k) for k in range(5)]\nprint(recall)",
        "def share(rows, k):\n    right = 0\n    for row in rows:\n        right += 1\n    return right / len(rows)",
        {"recall"},
    ),
}


@pytest.mark.parametrize(("report", "before", "found"), SHARES.values(), ids=SHARES.keys())
def test_a_share_of_counts_is_known_by_its_form(tmp_path, report, before, found):
    assert {name.removesuffix("[-1]") for name in names(analyse(tmp_path, train=looped(report, before)))} == found


def test_a_name_that_begins_with_a_letter_for_a_number_counts_nothing_where_it_ends_in_a_metric(tmp_path):
    report = "nn_ap = loss.item()\nnb = loss.item()\nprint('ap', nn_ap, nb)"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"nn_ap"}


def test_a_time_that_takes_the_name_of_its_start_is_a_time(tmp_path):
    report = "spent = time.time()\nspent = time.time() - spent\nprint(epoch, spent)"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"spent"}


def test_the_data_of_a_tensor_are_the_tensor_whatever_a_class_keeps_under_this_name(tmp_path):
    before = "import os\nclass Files:\n    def __init__(self):\n        self.data = [os.path.join('a', 'b')]\n"
    before += "files = Files()\ncriterion = torch.nn.MSELoss()"
    report = "test_loss = criterion(model(x), y)\nprint('test', test_loss.data[0])"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"test_loss.data[0]"}


def test_a_mean_and_the_mean_of_the_reciprocals_are_two_metrics(tmp_path):
    before = "import numpy as np\nranks = []"
    report = (
        "ranks.append(loss.item())\n"
        "print('Mean rank %.3f, mean reciprocal rank %.3f' % (np.mean(ranks), np.mean(1 / np.array(ranks))))"
    )
    metrics = analyse(tmp_path, train=looped(report, before)).metrics
    assert [metric.name for metric in metrics if metric.selected] == ["Mean rank", "mean reciprocal rank"]


NAMED = {
    "by a tag that a tracker is given": (
        "epoch_hits = outside.Hits('x')\nwriter.add_scalar('val/_hits@10', epoch_hits[0])",
        {"epoch_hits[0]"},
    ),
    "as taken over all classes": (
        "micro_p, part_p = outside.both('x')\nprint('micro_p', micro_p, 'part_p', part_p)",
        {"micro_p"},
    ),
}


@pytest.mark.parametrize(("report", "found"), NAMED.values(), ids=NAMED.keys())
def test_a_value_of_unknown_origin_is_a_metric_where_it_is_named_so(tmp_path, report, found):
    assert set(names(analyse(tmp_path, train=looped(report, "import outside")))) == found


def test_texts_that_names_add_to_each_other_are_read(tmp_path):
    before = (
        "def lines(loss):\n    text = 'loss'\n    other = text + '!'\n    text = other + ': '\n"
        "    text = text + '%.3f' % loss\n    return text\n"
    )
    assert set(names(analyse(tmp_path, train=looped("line = lines(loss.item())\nprint(line)", before)))) == {"loss"}


def test_a_position_of_a_list_is_what_it_is_given_later(tmp_path):
    report = (
        "if loss.item() < best[0]:\n    best[0] = loss.item()\n    best[1] = epoch\n"
        "print('best %.2f at %d' % (best[0], best[1]))"
    )
    assert set(names(analyse(tmp_path, train=looped(report, "best = [9, 0]")))) == {"best[0]"}


#: Averages, each of which may be one of nothing; a text is kept beside the numbers.
AVERAGES = """
class Average:
    def __init__(self, title):
        self.title, self.kept, self.total, self.count = title, {}, 0, 0
    def update(self, value, n=1):
        self.kept[self.title] = self.title
        self.total += value * n
        self.count += n
    def avg(self):
        if self.count == 0:
            return 0
        return float(self.total) / self.count

def share(decoder, guess, truth):
    if guess is None:
        return np.nan
    found = [float(decoder.decode(a) == decoder.decode(b)) for a, b in zip(guess, truth)]
    return sum(found) / len(found)

losses, hits = Average('losses'), Average('hits')
"""


def test_averages_that_may_be_of_nothing_are_numbers_and_no_texts(tmp_path):
    report = (
        "losses.update(loss)\nhits.update((model(x) > 0).float().mean().item())\n"
        "print('loss {:.6f}, accuracy {:.3f}'.format(losses.avg(), hits.avg()))\n"
        "print('word error', share(decoder, model(x), y))"
    )
    found = set(names(analyse(tmp_path, train=looped(report, AVERAGES))))
    assert found == {"losses", "hits", "share()"}


def test_what_is_rounded_by_a_library_is_named_by_its_variable(tmp_path):
    report = "mean = loss.item()\nprint('loss: {}'.format(np.around(mean, 2)))"
    assert "mean" in names(analyse(tmp_path, train=looped(report, "import numpy as np")))


def test_by_how_much_two_computed_values_differ_is_neither_of_them(tmp_path):
    report = """
    mean = loss.item()
    base = model(y).mean().item()
    print('mean {:.3f}, base {:.3f}, difference {:.3f}'.format(mean, base, mean - base))
    """
    assert {"mean", "base", "mean - base"} <= names(analyse(tmp_path, train=looped(report))).keys()


def test_a_rate_of_what_the_training_computes_is_no_time(tmp_path):
    report = """
    seen += (y != 0).sum().item()
    fresh, before = seen - before, seen
    spent = time.time() - start
    print('{:.2f} s, {:.1f} tokens/s'.format(spent, fresh / spent))
    """
    found = names(analyse(tmp_path, train=looped(report, "seen = before = 0\nstart = time.time()")))
    assert {"spent", "fresh / spent"} <= found.keys()


@pytest.mark.parametrize(
    ("above", "name"),
    [("print('Held-out accuracy:')\n", "Held-out accuracy"), ("print('Round over')\n", "hits"), ("", "hits")],
)
def test_a_value_that_is_shown_alone_is_named_by_the_line_above(tmp_path, above, name):
    report = f"hits = (model(x) > y).float()\n{above}print(hits.mean())"
    (metric,) = analyse(tmp_path, train=looped(report)).metrics
    assert metric.name == name


def test_the_number_of_a_class_is_a_part_of_the_name(tmp_path):
    report = "for i in range(3):\n    hits = float((model(x).argmax(1)[y == i] == i).float().mean())\n"
    report += "    print(f'Accuracy of class {i}: {hits:.2f}')"
    (metric,) = analyse(tmp_path, train=looped(report)).metrics
    assert (metric.name, metric.capture.label) == ("Accuracy of class {i}", "i")
