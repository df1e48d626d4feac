"""Every seed of the program derives from the run's seed, and keeps its meaning."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from installed import require
from programs import Outcome, Run


def program(source: str) -> str:
    return textwrap.dedent(source)


def test_equal_run_seeds_give_equal_draws_and_others_do_not(run: Run, python: str) -> None:
    source = (
        "import random\nprint(random.random())\nrandom.seed(1)\nprint(random.random())\nprint(random.Random().random())"
    )
    first, again, other = (run(source, python=python, seed=seed).stdout for seed in (1, 1, 2))
    assert first == again
    assert not set(first.split()) & set(other.split())


def test_seeding_again_with_the_same_value_repeats_the_draws(run: Run, python: str) -> None:
    source = """
    import random
    draws = []
    for given in (0, 0, 1, "a", "a", 0.5, None, b"x", b"x"):
        random.seed(given)
        draws.append(random.random())
    print(draws[0] == draws[1], draws[3] == draws[4], draws[7] == draws[8], len(set(draws)))
    """
    outcome = run(program(source), python=python, seed=5)
    assert (outcome.stdout, outcome.stderr) == ("True True True 6\n", "")


def test_a_replaced_seed_is_said_once_per_place(run: Run) -> None:
    outcome = run("import random\nfor epoch in range(3):\n    random.seed(epoch)\n", seed=5)
    (event,) = outcome.of("seed")
    assert (event["call"], event["file"], event["line"], event["given"]) == ("random.seed", "program.py", 3, "0")


def test_the_clock_is_no_seed(run: Run, python: str) -> None:
    source = """
    import random, time
    now = time.time()
    for given in (now, int(now), int(now * 1000), int(now * 1000) % 2**32, int(now * 1e9)):
        random.seed(given)
        print(random.random())
    """
    first, again = (run(program(source), python=python, seed=5).stdout for _ in range(2))
    assert first == again


def test_draws_of_the_system_stay(run: Run) -> None:
    source = """
    import os, random, secrets, tempfile, uuid
    print(os.urandom(8).hex(), random.SystemRandom(1).random(), secrets.token_hex())
    print(uuid.uuid4(), next(tempfile._get_candidate_names()))
    """
    first, again = (run(program(source), seed=5).stdout.split() for _ in range(2))
    assert not set(first) & set(again)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_draw_differently_from_each_other_and_alike_in_every_run(run: Run, method: str, python: str) -> None:
    source = f"""
    import multiprocessing, random
    def work(queue):
        queue.put(random.random())
    if __name__ == "__main__":
        context = multiprocessing.get_context("{method}")
        queue = context.Queue()
        for _ in range(3):
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get())
            process.join()
    """
    first, again = (run(program(source), python=python, seed=5) for _ in range(2))
    assert first.stderr == ""
    assert first.stdout == again.stdout
    assert len(set(first.stdout.split())) == 3


def test_ranks_draw_differently(run: Run) -> None:
    source = "import random\nprint(random.random())"
    assert len({run(source, seed=5, environment={"RANK": rank}).stdout for rank in "0123"}) == 4


def seeding_library(folder: Path) -> Path:
    """Return a folder of installed packages with a library that seeds."""
    packages = folder / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "library.py").write_text(
        "import random\n"
        "def set_seed(n): random.seed(n)\n"
        "def seed_worker(n): random.seed(n)\n"
        "def shuffle(n): random.seed(n)\n"
    )
    return packages


def test_a_library_seeds_for_the_program_or_for_itself(run: Run, tmp_path: Path) -> None:
    source = "import library, random\n{}(3)\nprint(random.random())"
    path = (seeding_library(tmp_path),)
    plain = run(source.format("library.set_seed"), path=path).stdout
    outcome = run(source.format("library.set_seed"), path=path, seed=5)
    assert outcome.stdout != plain
    assert [(event["file"], event["line"]) for event in outcome.of("seed")] == [("program.py", 2)]
    for own in ("library.seed_worker", "library.shuffle"):
        outcome = run(source.format(own), path=path, seed=5)
        assert outcome.stdout == plain
        assert outcome.of("seed") == []


@pytest.mark.slow
class TestLibraries:
    """NumPy, PyTorch, JAX, scikit-learn and Keras."""

    def twice(self, run: Run, source: str, warm: str = "") -> tuple[Outcome, Outcome]:
        """Run a program twice with one seed and once with another; all but the first in forks that are `warm`."""
        first = run(program(source), seed=5)
        again, other = (run(program(source), seed=seed, warm=warm) for seed in (5, 6))
        assert first.stderr == "", first.stderr
        assert first.stdout == again.stdout
        assert first.stdout != other.stdout
        return first, other

    def test_numpy(self, run: Run) -> None:
        source = """
        import copy, pickle
        import numpy as np
        from numpy.random import RandomState, default_rng, seed
        print(np.random.rand(), default_rng().random(), RandomState().rand())
        print(np.random.Generator(np.random.PCG64()).random())
        seed(0); a = np.random.rand(); np.random.seed(0); assert a == np.random.rand()
        assert default_rng(3).random() == np.random.default_rng(3).random() != np.random.default_rng(4).random()
        assert RandomState(3).rand() == np.random.RandomState(seed=3).rand() != RandomState(4).rand()
        print(a, default_rng(3).random(), RandomState(3).rand(), np.random.default_rng([1, 2]).random())
        state = RandomState(3)
        assert isinstance(state, np.random.RandomState) and isinstance(np.random.mtrand._rand, RandomState)
        assert not isinstance(3, RandomState) and issubclass(type(state), RandomState)
        assert pickle.loads(pickle.dumps(state)).rand() == copy.deepcopy(state).rand() == RandomState(3).rand()
        assert pickle.loads(pickle.dumps(RandomState)) is RandomState
        class Own(RandomState): pass
        assert isinstance(Own(3), RandomState) and isinstance(Own(3), Own) and not isinstance(state, Own)
        generator = default_rng(np.random.SeedSequence(5)); assert default_rng(generator) is generator
        """
        first, _ = self.twice(run, source)
        calls = {event["call"] for event in first.of("seed")}
        assert {call.rpartition(".")[2] for call in calls} == {"seed", "default_rng", "RandomState"}

    def test_scikit_learn_keeps_its_random_states_while_data_are_held_fixed(self, run: Run) -> None:
        require("sklearn")
        source = """
        import numpy as np
        from sklearn.model_selection import train_test_split
        from sklearn.utils import check_random_state
        print(train_test_split(range(10), random_state=3)[1])
        check_random_state(np.random.RandomState(0)); check_random_state(None); check_random_state(3)
        """
        plain, seeded = run(program(source), warm="sklearn"), run(program(source), seed=5, varying=[])
        assert (seeded.stdout, seeded.stderr) == (plain.stdout, "")

    def test_a_generator_made_by_scikit_learn_for_the_program_draws_for_what_it_is_used_for(self, run: Run) -> None:
        require("sklearn")
        source = """
        from sklearn.utils import check_random_state
        state = check_random_state(7)
        print(__dv_draw__(0, state.rand)(2))
        """
        draws = [{"factor": "data", "file": "program.py", "line": 4, "call": "state.rand"}]
        plain, held, varied = (
            run(program(source), draws=draws, warm="sklearn", **how)
            for how in [{"control": None}, {"seed": 5, "varying": []}, {"seed": 5, "varying": ["data"]}]
        )
        assert plain.stdout == held.stdout != varied.stdout
        assert [event["call"] for event in held.of("seed")] == ["sklearn.utils.check_random_state"]

    def test_torch(self, run: Run) -> None:
        require("torch")
        source = """
        import copy, pickle, random, torch
        from torch import manual_seed
        print(torch.rand(1).item())
        manual_seed(0); a = torch.rand(1); torch.random.manual_seed(0); assert torch.equal(a, torch.rand(1))
        torch.cuda.manual_seed_all(0)
        generator = torch.Generator()
        assert isinstance(generator, torch.Generator) and isinstance(torch.default_generator, torch.Generator)
        assert not isinstance(3, torch.Generator)
        assert generator.manual_seed(3) is generator
        print(a.item(), torch.randperm(9, generator=generator))
        print(torch.utils.data.random_split(range(4), [2, 2], generator)[0].indices)
        data = torch.utils.data.DataLoader(range(9), shuffle=True, generator=torch.Generator().manual_seed(1))
        print([int(x) for x in data])
        torch.seed(); print(torch.rand(1).item())
        copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), generator.clone_state()
        assert pickle.loads(pickle.dumps(torch.Generator)) is torch.Generator
        torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)
        import torch._dynamo
        torch.manual_seed(11); print(torch.rand(1).item())
        """
        first, _ = self.twice(run, source, warm="torch")
        assert {event["line"] for event in first.of("seed") if event["call"] == "torch.manual_seed"} == {5, 20}
        calls = {event["call"] for event in first.of("seed")}
        assert {"torch.cuda.manual_seed_all", "torch.Generator.manual_seed", "torch.seed"} < calls

    @pytest.mark.parametrize("controls", [{"seed": 5}, {"control": "observe"}], ids=["controlled", "observed"])
    def test_a_forked_worker_leaves_alone_what_lies_on_a_device(self, run: Run, controls: dict[str, object]) -> None:
        # A generator of the CPU stands for the device's: a forked child cannot use a device that its parent started.
        require("torch")
        source = """
        import os, deviate_runtime, torch
        torch.manual_seed(0)
        torch.cuda.default_generators = (torch.Generator(),)
        from deviate_runtime.streams.torch.random import Switched
        plain, parent = Switched.live, os.getpid()
        Switched.fresh = lambda self, seed: self.cls.get_state(self.cls.manual_seed(self.cls(), int(seed)))
        Switched.live = lambda self: plain(self) if self.device != "cuda:0" or os.getpid() == parent else 1 / 0
        for call, _ in torch.cuda._queued_calls:
            call()
        (device,) = [each for each in deviate_runtime.process.streams.generators if each.name == "cuda:0"]
        assert device.seeded["call"] == "torch.manual_seed"
        def seen(i):
            names = [each.name for each in deviate_runtime.process.streams.generators]
            return "torch" in names, "cuda:0" in names
        class Data(torch.utils.data.Dataset):
            __len__, __getitem__ = lambda self: 2, lambda self, i: seen(i)
        print([[bool(x) for x in each] for each in torch.utils.data.DataLoader(Data(), num_workers=1)])
        """
        outcome = run(program(source), warm="torch", **controls)
        assert (outcome.stdout, outcome.stderr) == ("[[True, False], [True, False]]\n", "")
        assert [event["message"] for event in outcome.of("note")] == []

    def test_workers_of_torch_keep_the_seeds_the_loader_gives_them(self, run: Run) -> None:
        require("torch")
        source = """
        import random, numpy, torch
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): return torch.tensor([torch.rand(1).item(), random.random(), numpy.random.rand()])
        if __name__ == "__main__":
            draws = torch.cat(list(torch.utils.data.DataLoader(Data(), num_workers=2)))
            print(draws.tolist())
            assert len(set(draws.flatten().tolist())) == 12
        """
        first, _ = self.twice(run, source, warm="torch")
        assert first.of("seed") == []

    def test_draws_of_a_forked_worker_are_decided_by_the_line_that_seeds_its_loader(self, run: Run) -> None:
        require("torch")
        source = """
        import random, numpy, torch
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(2)
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): return random.random() + numpy.random.rand()
        for seeded in None, generator:
            list(torch.utils.data.DataLoader(Data(), num_workers=1, generator=seeded))
        """
        outcome = run(program(source), warm="torch", control="observe")
        drawn = [event for event in outcome.of("fingerprint") if event["name"] == "augment"]
        lines = {(source["generator"], source.get("line")) for event in drawn for source in event["sources"]}
        assert lines == {("random", 3), ("random", 4), ("numpy", 3), ("numpy", 4)}

    def test_jax(self, run: Run) -> None:
        require("jax")
        source = """
        import jax, numpy as np
        from jax.random import PRNGKey
        print(jax.random.normal(PRNGKey(0)), jax.random.normal(jax.random.key(np.int64(7))))
        assert jax.random.normal(PRNGKey(0)) == jax.random.normal(PRNGKey(0)) != jax.random.normal(PRNGKey(1))
        print(jax.jit(lambda seed: jax.random.normal(PRNGKey(seed)))(5))
        """
        first, _ = self.twice(run, source, warm="jax")
        assert {event["call"] for event in first.of("seed")} == {"jax.random.PRNGKey", "jax.random.key"}

    def test_held_kernels_stay_held(self, run: Run) -> None:
        require("torch")
        source = """
        import torch
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.deterministic = False
        torch.use_deterministic_algorithms(False)
        print(torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic)
        print(torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
        print(torch.get_num_threads())
        """
        outcome = run(program(source), hold_impl=True, threads=1, warm="torch")
        assert (outcome.stdout, outcome.stderr) == ("False True\nTrue True\n1\n", "")
        assert {event["name"] for event in outcome.of("switch")} >= {
            "torch.set_num_threads",
            "torch.backends.cudnn.benchmark",
        }
        assert len(outcome.notes("switch-held")) == 2

    def test_what_libraries_draw_for_themselves_is_no_factor_of_the_program(self, run: Run) -> None:
        require("torch")
        source = """
        import torch
        model = torch.nn.Linear(3, 3)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
        """
        outcome = run(program(source), seed=5, warm="torch")
        assert {event["name"] for event in outcome.of("fingerprint")} == {"init", "weights", "examples", "input"}
