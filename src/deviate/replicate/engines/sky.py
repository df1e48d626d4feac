"""Print a task of SkyPilot that has a worker for each run; nothing here starts it, or follows it but by files."""

from __future__ import annotations

import shlex
import textwrap
from typing import Any

import yaml

from deviate.errors import BadOption
from deviate.project.cluster import ExportEntry
from deviate.replicate.engines.slurm import PREFIX
from deviate.replicate.orders import Submission

#: Of two machines each makes every second run. SkyPilot ends all machines when the command of one fails; how a run
#: ended is in its files.
SCRIPT = """\
{scratch}runs=(
{runs}
)
for ((index = SKYPILOT_NODE_RANK; index < ${{#runs[@]}}; index += SKYPILOT_NUM_NODES)); do
    DEVIATE_JOB="$SKYPILOT_TASK_ID-$index" deviate-worker {folder}/"${{runs[index]}}" || true
done
"""


class Sky:
    """Says which task makes the runs in containers of an image, on `width` machines; None: on one."""

    name = "sky"
    address = ""

    def __init__(self, wishes: ExportEntry, image: str, width: int | None) -> None:
        if wishes.gres.lower().startswith("gpu:"):
            raise BadOption(
                f"--gres must name an accelerator of SkyPilot, found {wishes.gres!r}",
                hint="type --gres A100:1; `sky show-gpus` lists them",
            )
        self._wishes = wishes
        self._image = image
        self._width = width

    @property
    def threads(self) -> int:
        """Threads that a run is given."""
        return self._wishes.cpus

    @property
    def scratch(self) -> str:
        """Folder of each machine in which its runs are made; empty: in the experiment's."""
        return self._wishes.scratch

    def script(self, submission: Submission) -> str:
        """Return the task."""
        wishes, runs = self._wishes, [run.path.name for run in submission.runs]
        resources = {"image_id": f"docker:{self._image}", "cpus": f"{wishes.cpus}+"}
        task: dict[str, Any] = {
            "name": PREFIX + submission.name,
            "num_nodes": min(self._width or 1, len(runs)),
            "resources": {**resources, "accelerators": wishes.gres} if wishes.gres else resources,
        }
        if wishes.volume:
            task["volumes"] = {wishes.mount: wishes.volume}
        folder = shlex.quote(str(submission.runs[0].path.parent))
        # Where it cannot be made, the worker says so.
        scratch = f"mkdir -p {shlex.quote(self.scratch)} || true\n" if self.scratch else ""
        named = "\n".join(f"    {shlex.quote(run)}" for run in runs)
        script = SCRIPT.format(runs=named, folder=folder, scratch=scratch)
        head = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=1000)
        return f"---\n{head}run: |\n{textwrap.indent(script, '  ')}"
