"""Samples whose results R 4.2.2 computed: stats package, and permutations and intervals written out in R."""

A = [96.9, 97.2, 96.1, 97.8, 96.8, 97.25, 96.4, 97.0]
B = [97.5, 98.1, 97.05, 97.9, 98.3, 97.3, 97.6, 98.0]
C = [96.2, 96.7, 96.5, 97.1, 96.0]

#: With ties within and across.
TIED_A = [1.0, 2.0, 2.0, 3.0, 5.0]
TIED_B = [2.0, 4.0, 5.0, 5.0, 6.0]

#: Example of the R package statpsych (ci.ratio.sd2).
RATIO_A = [32, 39, 26, 35, 43, 27, 40, 37, 34, 29]
RATIO_B = [36, 44, 47, 42, 49, 39, 46, 31, 33, 48]
