"""What models predict in evaluation, example by example: captured beside the program, which computes what it would.

`capture` holds the passes of a process, `outputs` reads labels and scores off outputs, `targets` what was to be
predicted, `metrics` the calls of metrics and the source's own ``predicted == target``, `torch`, `keras` and others
models.
"""
