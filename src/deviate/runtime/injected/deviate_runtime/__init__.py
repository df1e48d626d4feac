"""Deviate's runtime: the only code of Deviate that runs inside a training.

Python 3.7 or newer, standard library only. `start` is called by the `sitecustomize` beside this package.

Inputs
------
Environment variable ``DEVIATE_RUNTIME``
    Path of a JSON file; absent: nothing is done.
Environment variables ``RANK``, ``OMPI_COMM_WORLD_RANK``, ``PMI_RANK``, ``SLURM_PROCID``, ``LOCAL_RANK``
    The first that is set is this process's rank.
Environment variable ``DEVIATE_FIXED``
    What no generator decides and is held still, only in trial runs that look for a cause: see `fixing`.
``runtime.json``
    ``records``    folder that this process appends its files to
    ``original``   the project, and ``overlay``, the copy of it that this run works on: imports under the one come from
                   the other
    ``kept``       folders under ``original`` that are not redirected
    ``instrumented``  ``{file: {"text", "size", "crc", "written"}}``: for files relative to ``overlay``, or by their
                   real paths, the file with the text that is run in their place, and by which they are known
    ``read``       real paths of the files outside ``original`` that the analysis read
    ``control``    ``streams``: every factor draws from a stream of its own; ``observe``: nothing is replaced, draws
                   are only recorded; null: nothing
    ``seeds``      seed of each factor's streams, by factor
    ``varying``    factors that vary between the runs of the variant
    ``bit``        int: chooses the weight that is changed by one unit in the last place before the first update
    ``strict``     true: operations without a deterministic form raise an error
    ``draws``      ``[{"factor", "file", "line", "call"}]``; the id of a draw is its index
    ``explain``    factor whose draws are written by the line that made them; absent or null: none
    ``hold_impl``  true: the determinism switches of the frameworks are set
    ``threads``    int: the threads torch may use; null: left alone
    ``metrics``    ``[{"name", "how", "reads", "label", "key"}]``; a metric's id is its index. With ``framework`` for
                   ``how`` a framework reports it as ``name``; otherwise as ``key``, which may be absent
    ``predictions``  what is kept of predictions in evaluation, where ``control`` is not null: ``none``, ``labels`` or
                   ``scores`` of all classes, with ``:every`` the labels of every pass too; absent: nothing
    ``weights``    what is kept of weights, where ``control`` is not null: ``none``, ``digest``, ``small``,
                   ``final`` (of what the process ends with) or ``every:K`` (also after every K-th iteration of the
                   main loop)
    ``weights_limit``  bytes of weights that a run keeps at most; null or absent: any number
    ``reports``    true: it is noted from which lines of the program text is printed; absent: it is not
    ``comparisons``  ``[bool]``: for each comparison of the source, whether its left side is the target; the id of a
                   comparison is its index

Outputs
-------
``builtins``
    ``__dv__``, ``__dv_map__``, ``__dv_beside__``, ``__dv_loop__``, ``__dv_while__``, ``__dv_draw__``,
    ``__dv_side__(comparison, side, value)``: what instrumented code calls. Each hands its value on.
``records-PID-STAMP.bin``
    ``<iidd``: metric id, iteration (-1 before the main loop), elapsed seconds, value. Id -1: the main loop went on.
    Ids -2 and -3: bytes of ``stdout.log`` and ``stderr.log`` by then, see `wraps`. Id -4, the first record: how many
    records could not be written; a slot with an elapsed time of 0 is unused, see `records`.
    Ids from 1,000,000: names known at run time only.
``predictions-POINT-last-PID-STAMP.bin``, ``predictions-POINT-best-PID-STAMP.bin``
    What was predicted in the last evaluation at a point of the program, and in the best one where that is another:
    see `predictions.capture`.
``predictions-POINT-every-PID-STAMP.bin``
    The labels of every evaluation at a point, where they are asked for.
``weights-FRAMEWORK-NUMBER-PID-STAMP.safetensors``, ``weights-FRAMEWORK-NUMBER-afterITERATION-PID-STAMP.safetensors``
    Weights that were trained: see `weights`.
``events-PID-STAMP.jsonl``
    ``start``, ``child`` (a Python program was started, see `children`), ``opened`` (files outside the run, see
    `opened`), ``name``, ``seed``, ``draw``, ``fingerprint``, ``explained``, ``bit``, ``reports``, ``rank``,
    ``environment``, ``switch``, ``nondeterministic`` (an operation without a deterministic form was called), ``note``,
    ``end``, one JSON object a line.

No failure in here ends or changes a training: it is noted as an event, or dropped where even that fails. No random
number is drawn, no thread started, no signal handled, no reference to a value kept.
"""

import os

process = None


def start():
    """Start the runtime; a second call does nothing."""
    global process
    if process is not None:
        return
    from .process import Process

    process = Process.from_file(os.environ["DEVIATE_RUNTIME"])
    process.begin()
