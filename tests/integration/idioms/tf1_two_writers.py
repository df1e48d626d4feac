"""A TensorFlow 1 graph whose summaries two writers write, one of training and one of testing."""

# needs tensorflow
# expect train/loss = train loss (\S+)
# expect test/loss = test loss (\S+)

import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(0)
inputs = rng.randn(64, 3).astype('float32')
targets = inputs.dot(np.ones((3, 1), 'float32')) + 0.1 * rng.randn(64, 1).astype('float32')

x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
weights = tf.get_variable('weights', [3, 1], initializer=tf.zeros_initializer())
with tf.name_scope('costs'):
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
tf.summary.scalar('loss', loss)
merged = tf.summary.merge_all()


def shown(name, summary):
    return name + ' loss %.9g' % tf.Summary.FromString(summary).value[0].simple_value


lines = []
with tf.Session() as sess:
    train_writer, test_writer = tf.summary.FileWriter('logs/train'), tf.summary.FileWriter('logs/test')
    sess.run(tf.global_variables_initializer())
    for step in range(3):
        summary, _ = sess.run([merged, train_op], feed_dict={x: inputs[:48], y: targets[:48]})
        train_writer.add_summary(summary, step)
        lines.append(shown('train', summary))
        summary = sess.run(merged, feed_dict={x: inputs[48:], y: targets[48:]})
        test_writer.add_summary(summary, step)
        lines.append(shown('test', summary))
os.write(1, ('\n'.join(lines) + '\n').encode())
