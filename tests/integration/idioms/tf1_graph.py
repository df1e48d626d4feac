"""A graph of TensorFlow 1: summaries are nodes; a session runs them, and yields values that are printed."""

# needs tensorflow
# expect xent = xent (\S+)
# expect quality/accuracy = quality/accuracy (\S+)
# expect test accuracy = test accuracy (\S+)

import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(0)
points = rng.randn(96, 2).astype('float32')
labels = (points.sum(axis=1, keepdims=True) > 0).astype('float32')

x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
weights = tf.get_variable('weights', [2, 1], initializer=tf.zeros_initializer())
logits = tf.matmul(x, weights)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
correct = tf.equal(tf.cast(logits > 0, tf.float32), y)
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
tf.summary.scalar('xent', loss)
with tf.name_scope('quality'):
    tf.summary.scalar('accuracy', accuracy)
tf.summary.histogram('weights', weights)
merged = tf.summary.merge_all()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter('logs')
    for step in range(3):
        summary, _ = sess.run([merged, train_op], {x: points[:64], y: labels[:64]})
        writer.add_summary(summary, step)
        test_acc = sess.run(accuracy, {x: points[64:], y: labels[64:]})
        print('step %d test accuracy %.4f' % (step, test_acc))
    writer.close()

# what TensorBoard shows
shown = []
for name in os.listdir('logs'):
    for event in tf.train.summary_iterator(os.path.join('logs', name)):
        for value in event.summary.value:
            if value.HasField('simple_value'):
                shown.append('%s %.9g' % (value.tag, value.simple_value))
os.write(1, ('\n'.join(shown) + '\n').encode())
