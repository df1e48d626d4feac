"""Files of experiment trackers (TensorBoard, MLflow, wandb), read without the trackers' packages.

What a file is is decided by its content; a reader yields the scalars in it. Which scalars make a run, and what they are
metrics of, is decided by those who read: an import, and the collection of what a run wrote.
"""
