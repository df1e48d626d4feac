"""What two samples of runs let one say about each other: pure functions, arrays in, frozen results out.

Everything here that random draws enter takes the generator; SciPy and statsmodels compute, this package chooses, guards
and names its constants.
"""
