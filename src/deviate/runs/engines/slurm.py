"""Start workers as tasks of job arrays of Slurm.

Jobs are known by their name, which holds the name of their submission and is stored before anything is submitted: no
number of a job has to be kept, and a script that was submitted by hand is followed like any other.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from deviate.core.errors import ClusterRefused, NoCluster
from deviate.runs.engines.engine import JobState, Place
from deviate.runs.orders import Submission
from deviate.source.config import SlurmEntry
from deviate.store.files import write_whole

#: How names of jobs begin.
PREFIX = "deviate-"

#: Seconds that a command of Slurm may take.
PATIENCE = 60.0

#: States in which a job is to come or goes on, in Slurm's words.
ACTIVE = frozenset(
    {"PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
    | {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)

#: What sbatch says of options that the cluster does not have, and what to type.
HINTS = (
    ("partition", "`sinfo -s` lists the partitions; choose one with --set partition=NAME"),
    ("time limit", "`sinfo -o '%P %l'` lists what each partition allows; choose with --set time=TIME"),
    ("generic resource", "`sinfo -o '%P %G'` lists the resources; choose with --set gres=LIST"),
    ("node configuration", "ask for less with --set cpus=N or gres=LIST; `sinfo -o '%P %c %G'` lists what nodes have"),
    ("account", "name one under [slurm] in deviate.toml: options = ['--account=NAME']"),
)

SCRIPT = """#!/bin/bash
# Made by deviate, for {count} of {experiment}.
# Where it was printed: submit it with sbatch FILE, then type the same command without --print.
#SBATCH --job-name={name}
#SBATCH --array=0-{last}{width}
#SBATCH --output="{log}"
#SBATCH --open-mode=append
#SBATCH --no-requeue
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cpus}
{options}
runs=(
{runs}
)
worker() {{
    {python} -P -m deviate.runs.worker {folder}/"${{runs[$SLURM_ARRAY_TASK_ID]}}"
}}
# The worker hears this, too, and ends its training in order.
trap : TERM
worker
# One that was killed leaves its training behind: the next one ends that, and makes the run again.
while [ $? -ge 128 ] && [ $((tries += 1)) -le 3 ]; do worker; done
"""


class Slurm:
    """Submits job arrays with at most `width` tasks at a time; None: as many as the cluster allows."""

    name = "slurm"
    address = ""

    def __init__(self, wishes: SlurmEntry, width: int | None) -> None:
        self.wishes = wishes
        self.width = width

    @property
    def threads(self) -> int:
        """Threads that a run is given."""
        return self.wishes.cpus

    @property
    def scratch(self) -> str:
        """Folder of each machine in which its runs are made; empty: in the experiment's."""
        return self.wishes.scratch

    def check(self) -> None:
        """Refuse to work where Slurm is not."""
        for program in ("sbatch", "squeue", "scancel"):
            if shutil.which(program) is None:
                raise NoCluster(
                    f"Slurm's program {program} is not on this machine",
                    hint="log in to a machine of the cluster from which jobs are submitted, or leave --executor away",
                )

    def script(self, submission: Submission) -> str:
        """Return the script of the job array."""
        wishes = self.wishes
        given = {"partition": wishes.partition, "time": wishes.time, "gres": wishes.gres}
        options = [*(f"--{name}={value}" for name, value in given.items() if value), *wishes.options]
        runs = len(submission.runs)
        return SCRIPT.format(
            count=f"{runs} run" if runs == 1 else f"{runs} runs",
            experiment=submission.runs[0].path.parents[1].name,
            name=PREFIX + submission.name,
            last=runs - 1,
            width=f"%{self.width}" if self.width else "",
            log=str(submission.folder / "job-").replace("%", "%%") + "%a.log",
            cpus=wishes.cpus,
            options="".join(f"#SBATCH {option}\n" for option in options),
            folder=shlex.quote(str(submission.runs[0].path.parent)),
            runs="\n".join(f"    {shlex.quote(run.path.name)}" for run in submission.runs),
            python=shlex.quote(sys.executable),
        )

    def submit(self, submission: Submission) -> None:
        """Submit the script."""
        path = submission.folder / "job.sh"
        write_whole(path, self.script(submission).encode())
        done = _ask(["sbatch", "--parsable", str(path)])
        if done is None or done.returncode:
            said = done.stderr.strip() if done else f"it did not answer within {PATIENCE:.0f} s"
            line = said.splitlines()[-1].removeprefix("sbatch: error: ") if said else "no reason"
            raise ClusterRefused(f"sbatch did not take the jobs: {line}", hint=_hint(said, path))

    def states(self) -> Mapping[Place, JobState] | None:
        """Return what squeue knows of this user's jobs, those that ended lately too."""
        done = _ask(["squeue", "--me", "--array", "--noheader", "--states=all", "--format=%j|%K|%T|%r"])
        if done is None or done.returncode:
            return None
        return read_states(done.stdout)

    def cancel(self, submissions: Collection[str]) -> None:
        """End all tasks of the job arrays."""
        for name in submissions:
            _ask(["scancel", "--me", f"--name={PREFIX}{name}"])

    def cancel_words(self, submissions: Collection[str]) -> str:
        """Return what a user types to end all tasks."""
        return f"scancel --me --name={','.join(PREFIX + name for name in sorted(submissions))}"


def read_states(text: str) -> dict[Place, JobState]:
    r"""Return the states that ``squeue --format=%j|%K|%T|%r`` prints; of two jobs with one place the active one.

    >>> read_states("deviate-1f|0|PENDING|Priority\nother|N/A|RUNNING|None\n")
    {Place(submission='1f', task=0): JobState(word='PENDING', is_active=True, waits='Priority')}
    """
    states: dict[Place, JobState] = {}
    for line in text.splitlines():
        name, index, word, reason = line.split("|", 3)
        if not name.startswith(PREFIX) or not index.isdecimal():
            continue
        waits = reason if word == "PENDING" else ""
        place, state = Place(name.removeprefix(PREFIX), int(index)), JobState(word, word in ACTIVE, waits)
        if not (place in states and states[place].is_active):
            states[place] = state
    return states


def _hint(said: str, script: Path) -> str:
    return next((hint for word, hint in HINTS if word in said.lower()), f"the script is {script}")


def _ask(words: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
