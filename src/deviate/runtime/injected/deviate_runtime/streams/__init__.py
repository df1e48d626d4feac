"""Give every factor of nondeterminism random numbers of its own, in a program that knows nothing of it.

A factor is a purpose for which a training draws: ``init`` (parameters), ``shuffle`` (order of the data), ``augment``
(data transformations), ``layers`` (dropout and other stochastic layers), ``data`` (draws that make or split the data
set), ``other`` (the rest). Every generator has one state per factor; the boundaries at which a program goes from one
purpose to another (module construction, samplers, fetches, a model's forward) switch all generators to that factor's
states. Seeds that the program sets are replaced by ones derived from the factor's and the one given, so that seeding
again to repeat the same draws still repeats them.

``control`` of ``runtime.json`` selects what is done: ``streams``, as above; ``observe``, nothing is replaced or
switched, draws are only recorded; null, nothing at all.

Not covered: `random.SystemRandom`, `secrets`, `uuid`, `os.urandom`; bit generators of NumPy that no generator wraps.

Which function is called after which import, and the boundaries that need no code of their own, stand in
`deviate_runtime.frameworks`.
"""
