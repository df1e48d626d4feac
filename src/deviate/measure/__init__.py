"""From samples to numbers: pure functions, arrays in, frozen results out.

Parameters have one meaning everywhere, and a docstring describes only what differs:

sample     array_like of float, shape ``(n,)``: one finite value per run, in the metric's unit; ValueError for others
level      confidence level in (0, 1); ValueError for others
n          number of runs, 2 or more
rng        draws the resamples: the same state gives the same interval
resamples  number of resamples
direction  which values are better, 'higher' or 'lower'
"""
