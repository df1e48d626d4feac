"""Numbers that are reported beside the metrics and say nothing of how the training went."""

from __future__ import annotations

import pytest
from analysed_projects import analyse, looped, names

#: Sizes of a model.
SIZES = """
def bits_of(model):
    return sum(part.nelement() * 32 for part in model.parameters())

def bits_per_pixel(model, picture):
    return bits_of(model) / (picture.numel() / 3)

picture = torch.zeros(3, 8, 8)
frozen = 0
for part in model.modules():
    if isinstance(part, torch.nn.Linear):
        frozen += sum({each.data_ptr(): each.numel() for each in part.parameters()}.values())
"""


@pytest.mark.parametrize(
    "report",
    [
        "rate = bits_per_pixel(model, picture)\nprint(f'Half precision rate: {rate:.2f}')",
    ],
)
def test_sizes_of_model_and_device_are_no_metrics(tmp_path, report):
    report = f"{report}\nprint('loss', loss.item())"
    assert set(names(analyse(tmp_path, train=looped(report, SIZES)))) == {"loss"}


def test_free_memory_is_a_metric(tmp_path):
    report = "free, whole = torch.cuda.mem_get_info(0)\nprint(f'Free GPU memory: {free / 2**30} GB')"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"free"}


@pytest.mark.parametrize(
    "found", ["torch.tensor(losses).argmin().item()", "int(np.argmin(losses)) + 1", "np.argmin(losses)"]
)
def test_the_position_of_the_best_is_no_metric(tmp_path, found):
    report = f"losses.append(loss.item())\nhead = {found}\nprint('lowest loss head', head, 'lowest loss', min(losses))"
    assert "head" not in names(analyse(tmp_path, train=looped(report, "import numpy as np\nlosses = []")))


def test_the_epoch_that_one_of_two_ways_finds_is_no_metric(tmp_path):
    report = """
    losses.append(loss.item())
    best_epoch = np.array(losses).argmin()
    if args.best != 'auto':
        best_epoch = getattr(np.array(losses), args.best)()
    run.log({'epoch of the best loss': best_epoch})
    """
    before = "import argparse\nimport numpy as np\nimport wandb\nrun = wandb.init()\nlosses = []\n"
    before += "parser = argparse.ArgumentParser()\nparser.add_argument('--best')\nargs = parser.parse_args()\n"
    assert "best_epoch" not in names(analyse(tmp_path, train=looped(report, before)))


BESIDE = """
import argparse
import copy
import json
import numpy as np
import wandb
from outside import annealing, named

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
args = parser.parse_args()
run = wandb.init()
text_table = wandb.Table(columns=["step", "text"])
"""


@pytest.mark.parametrize(
    "report",
    [
        "run_id = named(loss)\njson.dump({'run_id': run_id}, open('info.json', 'w'))",
    ],
)
def test_ids_tables_and_what_weighs_a_loss_are_no_metrics(tmp_path, report):
    found = names(analyse(tmp_path, train=looped(f"{report}\nprint('loss', loss.item())", BESIDE)))
    assert set(found) == {"loss"}


def test_a_loss_of_what_is_in_the_distribution_is_a_metric(tmp_path):
    assert set(names(analyse(tmp_path, train=looped("loss_id = loss.item()\nprint('loss', loss_id)")))) == {"loss_id"}


@pytest.mark.parametrize("text", ["best {metric}: {best:.3f}", "best_{metric} = {best:.3f}"])
def test_what_names_the_next_value_is_no_metric(tmp_path, text):
    before = "from outside import metric\nbest = 9"
    report = f"best = min(best, loss.item())\nprint(f'{text}')"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"best"}


def test_items_that_never_run_are_not_reported(tmp_path):
    report = """
    row = {'loss': loss.item()}
    if CHECKS:
        row['val_loss'] = model(x).mean().item()
    run.log(row)
    """
    before = "import wandb\nrun = wandb.init()\nCHECKS = False"
    found = names(analyse(tmp_path, train=looped(report, before)))
    assert len(found) == 1
    assert "val_loss" not in "".join(found)


def test_the_time_that_a_loss_takes_is_no_loss(tmp_path):
    report = "print(f'compute loss time: {time.time() - before:.3f}')"
    (metric,) = analyse(tmp_path, train=looped(report, "before = time.time()")).metrics
    assert (metric.kind, metric.direction) == ("speed", "lower")


@pytest.mark.parametrize(
    "report",
    [
        "print('Total num of parameters:', sum(each.size for each in grown(model(x))))",
        "for hit in grown(model(x)):\n    print('Hits (raw) @ {}: {:.6f}'.format(hit, loss.item()))",
        "for place in grown(model(x)):\n    print('Example #%d' % place)",
        "print('mem_params', unknown.mem_params)",
        "import torch_xla.debug.metrics as met\nprint(met.metrics_report())",
    ],
    ids=["parameters", "cut-off", "number", "settings", "report of a compiler"],
)
def test_what_is_named_or_introduced_as_something_else_is_no_metric(tmp_path, report):
    before = "from elsewhere import grown, unknown"
    assert set(names(analyse(tmp_path, train=looped(report + "\nprint('loss', loss.item())", before)))) == {"loss"}


@pytest.mark.parametrize(
    ("given", "found"), [("images", {"loss"}), ("error", {"error", "loss"}), ("t_data", {"t_data", "loss"})]
)
def test_what_is_given_to_an_object_that_is_called_like_a_metric_is_not_one_for_that(tmp_path, given, found):
    before = "class Score:\n    def show(self, one):\n        print(one)\nfid_score = Score()"
    made = "time.time() - start" if given == "t_data" else "model(x)"
    report = f"start = time.time()\n{given} = {made}\nfid_score.show({given})\nprint('loss', loss.item())"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == found


def test_a_count_that_is_unpacked_beside_a_loss_and_a_time_is_no_metric(tmp_path):
    before = (
        "def write(values):\n    i, loss, spent = values\n    print('episode %d loss %f time %f' % (i, loss, spent))"
    )
    report = "values = (i, loss.item(), time.time() - start)\nwrite(values)"
    found = names(analyse(tmp_path, train=looped(report, f"{before}\nstart = time.time()")))
    assert set(found) == {"loss", "spent"}


@pytest.mark.parametrize(
    ("before", "report"),
    [
        ("", "alpha_sched = model.of\nprint(f'alpha={alpha_sched(epoch):.4f}')"),
        (
            "import tensorflow as tf\nalpha = tf.train.piecewise_constant(tf.Variable(0), [10, 20], [0.1, 0.5, 1.0])",
            "tf.summary.scalar('alpha', alpha)",
        ),
    ],
)
def test_what_the_step_decides_is_no_metric(tmp_path, before, report):
    found = names(analyse(tmp_path, train=looped(f"{report}\nprint('loss', loss.item())", before)))
    assert set(found) == {"loss"}


def test_a_mean_average_precision_of_valid_data_is_a_metric(tmp_path):
    report = "valid_map = float(model(x).mean())\nprint('best', valid_map)"
    assert set(names(analyse(tmp_path, train=looped(report)))) == {"valid_map"}


@pytest.mark.parametrize(
    "report",
    [
        "is_last = loss.item() < best\nwandb.log({'last': is_last})",
        "percentage_done = loss.item() / epochs\nprint('percentage done [{:.2f}]'.format(percentage_done))",
        "record = {'epoch': epoch, 'loss': loss.item()}\nepoch = record.pop('epoch')\nprint(f'epoch {epoch:3d}')",
    ],
)
def test_truths_and_progress_are_no_metrics(tmp_path, report):
    before = (
        "import argparse\nimport wandb\nfrom training import state, epochs, best\nargs = argparse.Namespace(parts=3)\n"
    )
    assert names(analyse(tmp_path, train=looped(report, before))) == {}


def test_a_copy_of_a_library_in_the_project_reports_nothing(tmp_path):
    library = "__version__ = '4.0'\ndef shown(value):\n    gap = (value * 2).item()\n    print('gap %.3f' % gap)\n"
    train = looped("print('loss', loss.item())\ntransformers.shown(loss)", "import transformers\n")
    (tmp_path / "transformers").mkdir()
    (tmp_path / "transformers" / "__init__.py").write_text(library)
    assert set(names(analyse(tmp_path, train=train))) == {"loss"}


def test_an_order_of_things_is_no_metric_and_the_last_of_a_table_is_one(tmp_path):
    before = "import wandb\nfrom training import evaluate, keys\ntable = {key: [] for key in keys}\n"
    report = (
        "order_idx = model(x).argsort()\nprint(order_idx)\n"
        "table['acc'].append(evaluate(model, 'text'))\nwandb.log({'server_acc': table['acc'][-1]})"
    )
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"table['acc'][-1]"}


def test_a_correlation_of_the_inputs_is_no_metric_by_its_word(tmp_path):
    before = "import pandas\nframe = pandas.read_csv('a.csv')\n"
    report = "print('correlation', frame['a'].corr(frame['b']))\nprint('loss', loss.item())"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"loss"}
    known = "from scipy.stats import spearmanr\nprint('spearman correlation', spearmanr(model(x).detach(), y)[0])"
    (metric,) = analyse(tmp_path, train=looped(known)).metrics
    assert (metric.kind, metric.direction) == ("quality", "higher")


def test_a_vocabulary_is_no_metric_though_it_is_called_like_one(tmp_path):
    before = "import json\nletters = open('a.txt').read()\nstoi = {each: i + 1 for i, each in enumerate(letters)}\n"
    report = "print('loss', loss.item())\njson.dump({'stoi': stoi}, open('v.json', 'w'))"
    assert set(names(analyse(tmp_path, train=looped(report, before)))) == {"loss"}
