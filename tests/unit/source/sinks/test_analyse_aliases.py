"""Reporting functions under other names, and reports that libraries make of tables and graphs."""

from __future__ import annotations

import time

import pytest
from analysed_projects import HEAD, analyse, looped, names

LOGGER = "import logging\nlogger = logging.getLogger(__name__)\n"
OTHER_NAMES = {
    "print as a logger": ("print('epoch', epoch, 'loss', loss.item())", LOGGER + "print = logger.info"),
    "a method": ("say(f'epoch {epoch} loss {loss.item()}')", LOGGER + "say = logger.info"),
    "partial": ("say('loss', loss.item())", "import functools\nsay = functools.partial(print, flush=True)"),
    "lambda": ("say('loss %f' % loss.item())", "say = lambda text: print(text, flush=True)"),
    "lambda of any": ("say('loss', loss.item())", "say = lambda *values: print(*values)"),
    "a choice": ("say('loss', loss.item())", "say = print if __name__ == '__main__' else lambda *values: None"),
    "a choice by and and or": (
        "say('loss %f' % loss.item())",
        LOGGER + "say = (__name__ == 'x' and logger.info or logger.debug)",
    ),
    "the project's own": (
        "print('loss %f' % loss.item())",
        "class Log:\n    def info(self, text):\n        open('x', 'a').write(text)\nlog = Log()\nprint = log.info",
    ),
    "data frame by rows": (
        "df.loc[epoch] = [epoch, loss.item()]\ndf.to_csv('x.csv')",
        "import pandas as pd\ndf = pd.DataFrame(columns=['epoch', 'loss'])",
    ),
    "data frame that grows": (
        "df = pd.concat([df, pd.DataFrame([{'epoch': epoch, 'loss': loss.item()}])])\ndf.to_csv('x.csv')",
        "import pandas as pd\ndf = pd.DataFrame()",
    ),
    "row that is added up": (
        "row = [epoch] + [loss.item()] + [''] * 3\nrow = map(str, row)\nf.write(','.join(row))",
        "f = open('log.csv', 'w')",
    ),
    "value of a summary": (
        "s = tf.Summary()\ns.value.add(tag='loss', simple_value=loss.item())\nwriter.add_summary(s)",
        "import tensorflow as tf\nwriter = tf.summary.FileWriter('x')",
    ),
    "summary that is filled": (
        "s = tf.Summary()\nv = s.value.add()\nv.tag = 'loss'\nv.simple_value = loss.item()\nwriter.add_summary(s)",
        "import tensorflow as tf\nwriter = tf.summary.FileWriter('x')",
    ),
    "format that is added up": (
        "print(('epoch {:0' + str(width) + 'd} loss {:.3f}').format(epoch, loss))",
        "width = len(str(10))",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("report", "before"), OTHER_NAMES.values(), ids=OTHER_NAMES.keys())
def test_the_loss_is_found_and_not_the_epoch(tmp_path, report, before):
    assert names(analyse(tmp_path, train=looped(report, before))) == {"loss": "value"}


def test_the_logarithm_that_an_object_keeps_is_no_report(tmp_path):
    before = "class Log:\n    def __init__(self):\n        self.log = torch.log\n"
    method = "    def of(self, x):\n        return self.log(x)\n"
    assert names(analyse(tmp_path, train=looped("Log().of(loss)", before + method))) == {}


def test_an_estimator_reports_its_loss_and_its_metrics(tmp_path):
    train = """
import tensorflow as tf
def model_fn(features, labels, mode):
    logits = tf.layers.dense(features, 2)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, 1))
    train_op = tf.train.AdamOptimizer().minimize(loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops={'accuracy': accuracy})
estimator = tf.estimator.Estimator(model_fn, 'out')
tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(f), tf.estimator.EvalSpec(g))
"""
    assert names(analyse(tmp_path, train=train)) == {"loss": "framework", "accuracy": "framework"}


def test_keras_reports_a_loss_for_each_output(tmp_path):
    train = "model.compile(loss={'box': f, 'cls': g}, optimizer='adam')\nmodel.fit(x, y, epochs=3)\n"
    variables = set(names(analyse(tmp_path, train="import keras\nmodel = keras.Model()\n" + train)))
    assert variables == {"fit:loss", "fit:box_loss", "fit:cls_loss"}


def test_outputs_and_metrics_of_keras_are_those_that_a_function_gives(tmp_path):
    train = """
import keras
model = keras.Model()
def losses(both):
    if both:
        return {'box': f, 'cls': 'mse'}, 2
    return f, None
loss, weights = losses(read())
if weights:
    metrics = {'cls': share}
else:
    metrics = [share]
model.compile(loss=loss, optimizer='adam', metrics=metrics)
model.fit(x, y, epochs=3)
"""
    variables = set(names(analyse(tmp_path, train=train)))
    assert variables == {"fit:loss", "fit:box_loss", "fit:cls_loss", "fit:cls_share"}


def test_a_summary_stands_where_the_graph_is_built(tmp_path):
    train = (
        HEAD
        + """
import tensorflow as tf
class Net:
    def __init__(self):
        self.loss = tf.reduce_mean(tf.square(tf.placeholder(tf.float32)))
        tf.summary.scalar('loss', self.loss)
net = Net()
op = tf.train.AdamOptimizer().minimize(net.loss)
sess = tf.Session()
for step in range(10):
    sess.run(train_op)
"""
    )
    assert names(analyse(tmp_path, train=train)) == {"self.loss": "framework"}


def test_a_function_that_many_hand_on_under_one_name_is_followed_once(tmp_path):
    text = "def make(layer):\n    return layer('loss')\n"
    text += "".join(f"def make_{n}(layer):\n    return make(layer)\nmake_{n}(print)\n" for n in range(25))
    began = time.perf_counter()
    analyse(tmp_path, train=text)
    assert time.perf_counter() - began < 5
