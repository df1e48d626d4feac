"""Programs that start other programs, and which of their options take the next word."""

from __future__ import annotations

import difflib
import re
import shutil

#: Names of interpreters and of shells.
PYTHON = re.compile(r"^(pypy|python)[\d.]*(w|t|d)?(\.exe)?$")
SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
#: Programs that print with ``--just-print`` what they would run.
MAKES = {"make", "gmake"}
#: Options of the interpreter that take the next word.
PYTHON_VALUES = {"-W", "-X", "--check-hash-based-pycs"}
#: Programs that start another command after their own options: options that take the next word.
PREFIXES: dict[str, set[str]] = {
    "env": {"-u", "--unset", "-C", "--chdir"},
    "time": {"-o", "-f"},
    "nice": {"-n", "--adjustment"},
    "ionice": {"-c", "-n", "--class", "--classdata"},
    "nohup": set(),
    "setsid": set(),
    "prlimit": set(),
    "stdbuf": {"-i", "-o", "-e"},
    "timeout": {"-s", "-k", "--signal", "--kill-after"},
    "taskset": {"-c"},
    "numactl": set(),
    "srun": {"-n", "-N", "-p", "-c", "-t", "-J", "--ntasks", "--nodes", "--partition", "--gres"},
    "xvfb-run": {"-s", "-n", "-e", "-f", "-p", "-w"},
    "mpirun": {"-n", "-np", "-H", "--host", "--hostfile", "-x", "--bind-to", "--map-by"},
    "mpiexec": {"-n", "-np", "-host", "-hosts", "-f"},
    "exec": {"-a"},
    "catchsegv": set(),
    "sudo": {"-u", "-g"},
}
#: The same with a sub-command between (``uv run``).
RUNNERS: dict[str, set[str]] = {
    "uv": {"--with", "--python", "-p", "--extra", "--group", "--project", "--directory", "--env-file", "--index"},
    "poetry": {"-C", "-P", "--directory", "--project"},
    "pipenv": set(),
    "pdm": {"-p", "--project"},
    "rye": set(),
    "hatch": {"-e", "--env", "-p"},
    "conda": {"-n", "--name", "-p", "--prefix", "--cwd"},
    "mamba": {"-n", "--name", "-p", "--prefix"},
    "micromamba": {"-n", "--name", "-p", "--prefix"},
    "pixi": {"-e", "--environment", "--manifest-path"},
    "ray": set(),
}
#: Programs, or modules run with -m, that start a script after their own options: options without a value.
LAUNCHERS: dict[str, set[str]] = {
    "torchrun": {"--standalone", "--no-python", "--no_python", "--run-path", "--run_path", "--use-env", "--use_env"},
    "accelerate": {"--multi_gpu", "--multi-gpu", "--cpu", "--tpu", "--use_fsdp", "--use_deepspeed", "--use_megatron_lm",
                   "--use_xpu", "--debug", "--quiet", "-q", "--same_network", "--no_python", "--no-python", "--ipex",
                   "--mps", "--main_training_function_", "--enable_cpu_affinity", "--use_fp8"},
    "deepspeed": {"--force_multi", "--enable_each_rank_log_", "--no_python", "--no_local_rank", "--no_ssh_check",
                  "--no_ssh", "--save_pid", "--bind_cores_to_rank"},
    "horovodrun": {"--verbose", "--disable-cache", "--gloo", "--mpi", "--js", "-cb", "--check-build", "--autotune",
                   "--timeline-mark-cycles", "--no-stall-check", "--tcp", "--elastic-timeout_"},
    "lightning": set(),
    "fabric": set(),
    "composer": {"--verbose", "-v", "-m_"},
    "colossalai": set(),
    "ipython": {"--no-banner", "--pylab_"},
    "coverage": {"--parallel-mode", "-p", "--append", "-a", "--branch"},
    "kernprof": {"-l", "-v", "-b"},
}  # fmt: skip
#: Modules run with -m that start a script.
MODULE_LAUNCHERS = {
    "torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "torch.distributed.elastic": "torchrun", "deepspeed.launcher.runner": "deepspeed", "coverage": "coverage",
    "accelerate": "accelerate", "cProfile": "kernprof", "kernprof": "kernprof", "pdb": "kernprof",
    "torch_xla.distributed.xla_dist": "torchrun", "torch.utils.bottleneck": "kernprof",
}  # fmt: skip
#: Words between a launcher and its options.
SUBCOMMANDS = {"launch", "run"}

#: Programs that trainings are started with.
KNOWN = ("python", "python3", *LAUNCHERS, *RUNNERS, *SHELLS, *MAKES, *PREFIXES)

#: Least likeness of two names, in [0, 1], that is taken for a slip: one letter, or two that changed places.
ALIKE = 0.7


def missing_hint(word: str, path: str | None = None) -> str:
    """Suggest what to type instead of `word`, which names no program in the folders of `path`, by default PATH."""
    near = difflib.get_close_matches(word, KNOWN, n=len(KNOWN), cutoff=ALIKE)
    program = next((name for name in near if shutil.which(name, path=path)), None)
    shell = "the words after -- are started without a shell; for shell syntax use: bash -c '...'"
    return f"did you mean {program}?" if program is not None else shell
