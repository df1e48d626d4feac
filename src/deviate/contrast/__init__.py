"""Comparison of two samples of runs: pure functions, arrays in, frozen results out.

Everything here that random draws enter takes the generator; SciPy computes, this package chooses, guards
and names its constants.

Parameters have one meaning everywhere, and a docstring describes only what differs:

a, b            array_like of float, shapes ``(n_a,)`` and ``(n_b,)``: one finite value per run, in the unit of the
                metric; ValueError for others. For paired statistics ``(n_pairs,)``: values at the same index belong
                together
samples         one such sample per side
level           confidence level of all intervals and bounds, in (0, 1)
alpha           share of false alarms one accepts, in (0, 1)
power           probability of showing a difference that is there, in (0, 1), above alpha
n, m, n_a, n_b  runs of each side, 2 or more
paired          whether runs belong together two by two
direction       which values are better, 'higher' or 'lower'
rng, seed       draw resamples, and arrangements of the runs where there are too many to look at all
resamples       number of resamples
"""
