"""From samples to numbers: pure functions, arrays in, frozen results out.

Parameters have one meaning everywhere, and a docstring describes only what differs:

sample     array_like of float, shape ``(n,)``: one finite value per run, in the metric's unit; ValueError for others
level      confidence level in (0, 1); ValueError for others
n          number of runs, 2 or more
rng        draws the resamples: the same state gives the same interval
resamples  number of resamples
labels     array_like of int, shape ``(n_runs, n_examples)``: the label that each run predicts for each example, the
           examples in one order; 1 run and 1 example or more; ValueError for others
targets    array_like of int, shape ``(n_examples,)``: the right label of each example; beside scores its position in
           their last axis
scores     array_like of float, shape ``(n_runs, n_examples, n_classes)``
values     array_like of float, shape ``(n_runs, n_examples)``: one finite value for each example
direction  which values are better, 'higher' or 'lower'
"""
