"""Time the operations of PyTorch, in a run of ``deviate certify --price`` that is not timed itself.

Input: the environment variable ``DEVIATE_KERNELS``, not empty. Output: ``kernels.json``, an object: `updates`, and
`operations` by name, ``[calls, microseconds on the processor, microseconds on devices]``, without what each calls.
"""

import atexit
import json
import os
import sys

VARIABLE, FILE = "DEVIATE_KERNELS", "kernels.json"

#: Updates that are timed, after the first, which sets up what the others use: as many where kernels are held as where
#: they are free. To sum up takes longer than to record: a REINFORCE in which 50 were timed ran for a minute more.
UPDATES = 20


def watch(torch, process):
    """Begin after the first update of an optimizer."""
    optim = sys.modules["torch.optim.optimizer"]
    if not hasattr(optim, "register_optimizer_step_post_hook"):
        return
    timing = Timing(torch, os.path.join(process.config["records"], FILE))
    optim.register_optimizer_step_post_hook(timing.passed)
    atexit.register(timing.stop)


class Timing:
    """The profile of one process."""

    def __init__(self, torch, path):
        self.torch, self.path = torch, path
        self.profile, self.updates, self.process = None, 0, os.getpid()

    def passed(self, *args):
        """Pass an update."""
        if self.profile is not None:
            self.updates += 1
            if self.updates == UPDATES:
                self.stop()
        elif self.updates == 0:
            self.profile = self.torch.profiler.profile()
            self.profile.__enter__()

    def stop(self):
        """End, and write what took how long."""
        profile, self.profile = self.profile, None
        if profile is None or os.getpid() != self.process:
            return
        profile.__exit__(None, None, None)
        events = profile.key_averages()
        times = {each.key: [each.count, each.self_cpu_time_total, on_devices(each)] for each in events}
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"updates": self.updates, "operations": times}, file)


def on_devices(event):
    """Return the time that an operation took on devices."""
    return getattr(event, "self_device_time_total", None) or getattr(event, "self_cuda_time_total", 0)
