"""TensorFlow: the seeds of operations, generator objects, `tf.data`."""
