"""From samples to numbers: pure functions, arrays in, frozen results out.

SciPy computes; this package chooses, guards and names its constants. Parameters have one meaning everywhere, and a
docstring describes only what differs:

sample          array_like of float, shape ``(n,)``: one finite value per run, in the metric's unit; ValueError for
                others
a, b            two of them, shapes ``(n_a,)`` and ``(n_b,)``; for paired statistics ``(n_pairs,)``: values at the same
                index belong together
samples         one such sample per side
level           confidence level of intervals and bounds, in (0, 1); ValueError for others
alpha           share of false alarms one accepts, in (0, 1)
power           probability of showing a difference that is there, in (0, 1), above alpha
n, m, n_a, n_b  number of runs, 2 or more
paired          whether runs belong together two by two
direction       which values are better, 'higher' or 'lower'
rng, seed       draw the resamples, and arrangements of the runs where there are too many to look at all: the same
                state gives the same interval
resamples       number of resamples
labels          array_like of int, shape ``(n_runs, n_examples)``: the label that each run predicts for each example,
                the examples in one order; 1 run and 1 example or more; ValueError for others
targets         array_like of int, shape ``(n_examples,)``: the right label of each example; beside scores its position
                in their last axis
scores          array_like of float, shape ``(n_runs, n_examples, n_classes)``
values          array_like of float, shape ``(n_runs, n_examples)``: one finite value for each example
"""
