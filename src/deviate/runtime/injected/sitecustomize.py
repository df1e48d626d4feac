"""Start Deviate's runtime in this process, then the sitecustomize that this one stands in front of.

Input: the environment variable ``DEVIATE_RUNTIME``, path of a ``runtime.json`` (see `deviate_runtime`); without it
nothing is started. Output: the files that `deviate_runtime` appends to. With ``DEVIATE_WARM`` this process trains
nothing, and those that it forks go on from here, see `deviate_runtime.warm`.
"""

import _frozen_importlib_external
import os
import sys


def start_runtime():
    """Start the runtime; the training starts whatever goes wrong in it."""
    if not os.environ.get("DEVIATE_RUNTIME"):
        return
    if os.environ.get("DEVIATE_WARM"):
        from deviate_runtime import warm

        warm.serve()
        return
    try:
        import deviate_runtime

        deviate_runtime.start()
    except Exception as error:
        # Not even the events file could be written: one line remains, for those who debug Deviate.
        if os.environ.get("DEVIATE_DEBUG"):
            sys.stderr.write("deviate: the runtime did not start: %r\n" % (error,))


def run_shadowed():
    """Run the user's own sitecustomize as the interpreter would have; it takes this module's place."""
    folder = os.path.dirname(os.path.abspath(__file__))
    further = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    # What importlib.machinery hands on; importing that itself would cost every start a millisecond.
    spec = _frozen_importlib_external.PathFinder.find_spec("sitecustomize", further)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


start_runtime()
run_shadowed()
