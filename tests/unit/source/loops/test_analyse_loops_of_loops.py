"""Loops around trainings: those that train, those that repeat whole trainings, and those that serve something else."""

from __future__ import annotations

import textwrap

import pytest
from analysed_projects import HEAD, STEP, analyse


def training(name: str, over: str = "for epoch in range(3):", made: str = "", mark: str = "") -> str:
    """A function that trains: its loop, what it makes before it, and a mark at the loop."""
    step = textwrap.indent(STEP.strip(), " " * 12)
    before = f"    {made}\n" if made else ""
    return (
        f"def {name}(model=model, optimizer=optimizer):\n{before}    {over}{mark}\n        for x, y in loader:\n"
        f"{step}\n        print('loss', loss.item())\n"
    )


def found(folder, entry="train.py", **files) -> str:
    """Return the text of the line that the main loop stands in."""
    loop = analyse(folder, entry, **files).main_loop
    return (folder / loop.file).read_text().splitlines()[loop.line - 1] if loop is not None else ""


OPTIMISER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"


@pytest.mark.parametrize(
    "outer",
    [
        "for i in range(1, args.numIters + 1):",
        "for i in range(config['global_rounds']):",
        "for r in range(int(args.comm_rounds)):",
        "for round in range(rounds):",
        "for e in range(args.nepochs):",
    ],
)
def test_rounds_that_train_anew_each_are_the_main_loop(tmp_path, outer):
    text = HEAD + training("local", made=OPTIMISER) + f"{outer}  # main\n    local()\n    print('round', 1)\n"
    assert "# main" in found(tmp_path, train=text)


@pytest.mark.parametrize(
    "outer",
    [
        "for i in range(args.n_runs):",
        "for i in range(args.repeat):",
        "for iteration in range(repetitions):",
        "for part in range(args.valid_fold):",
    ],
)
def test_a_loop_that_counts_whole_trainings_is_not_the_main_one(tmp_path, outer):
    text = HEAD + training("fit", mark="  # main") + f"{outer}\n    fit()\n"
    assert "# main" in found(tmp_path, train=text)


def test_a_while_loop_over_trials_is_not_the_main_one(tmp_path):
    text = HEAD + training("train") + "trial = 0\nwhile trial < 4:\n    train()\n    trial += 1\n"
    assert found(tmp_path, train=text).lstrip().startswith("for epoch in range(3):")


@pytest.mark.parametrize(("label", "line"), [("fold", ""), ("it", "for k in range(5):")])
def test_a_loop_that_reports_its_counter_as_the_number_of_a_training_is_not_the_main_one(tmp_path, label, line):
    text = f"for k in range(5):\n    accuracy = measure(k)\n    print(f'{label} {{k}}: accuracy {{accuracy:.3f}}')\n"
    assert found(tmp_path, train=f"def measure(k):\n    return sum(map(float, open(str(k)))) / 9\n{text}") == line


@pytest.mark.parametrize("outer", ["for epochs, size in zip(counts, sizes):", "for steps in [10, 90]:"])
def test_a_loop_over_counts_of_passes_is_not_the_main_one(tmp_path, outer):
    text = HEAD + training("fit", mark="  # main") + f"{outer}\n    fit()\n"
    assert "# main" in found(tmp_path, train=text)


def test_a_loop_that_counts_epochs_up_by_a_name_in_the_plural_is_the_main_one(tmp_path):
    text = HEAD + training("fit", over="for steps in range(3):") + "for epochs in range(9):  # main\n    fit()\n"
    assert "# main" in found(tmp_path, train=text)


CLOSURE = """
class Net:
    def __init__(self):
        self.optimizer = torch.optim.LBFGS(model.parameters(), max_iter=900)
    def loss(self):
        loss = ((model(loader[0][0]) - 1) ** 2).mean()
        loss.backward()
        print('loss', loss.item())
        return loss
    def fit(self):
        self.optimizer.step(self.loss)  # call
"""


@pytest.mark.parametrize(
    ("started", "line"),
    [("Net().fit()\n", "# call"), ("net = Net()\nfor epoch in range(3):  # main\n    net.fit()\n", "# main")],
)
def test_an_optimiser_that_runs_a_closure_in_no_loop_goes_on_by_itself(tmp_path, started, line):
    assert line in found(tmp_path, train=HEAD + CLOSURE + started)


def test_a_loop_that_makes_trainer_and_optimiser_anew_repeats_trainings(tmp_path):
    step = textwrap.indent(STEP.strip().replace("optimizer", "self.optimizer"), " " * 12)
    text = (
        HEAD + "class Runner:\n    def __init__(self):\n        self.optimizer = torch.optim.Adam(model.parameters())\n"
        "    def run(self):\n        steps = 0\n        while steps < args.n_steps:  # main\n"
        "            x, y = loader[0]\n"
        f"{step}\n            steps += 1\n            print('loss', loss.item())\n"
        "for i in range(8):\n    runner = Runner()\n    runner.run()\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_how_often_the_optimiser_is_made_tells_repetitions_from_steps(tmp_path):
    made = "def fit():\n    run(optimizer=torch.optim.SGD(model.parameters(), lr=0.1))\n"
    text = HEAD + training("run", mark="  # main") + made + "for i in range(iter_num):\n    fit()\n"
    assert "# main" in found(tmp_path, train=text)


def test_a_loop_that_also_trains_itself_repeats_no_trainings(tmp_path):
    text = (
        HEAD + training("probe", made=OPTIMISER)
        + "for i in range(100):  # main\n    x, y = loader[0]\n" + textwrap.indent(STEP.strip(), "    ")
        + "\n    print('loss', loss.item())\n    probe()\n"
    )  # fmt: skip
    assert "# main" in found(tmp_path, train=text)


def test_a_training_that_only_measures_is_not_the_main_one(tmp_path):
    score = HEAD + training("predictive_score_metrics", "for iteration in range(9):", OPTIMISER)
    entry = (
        "import score\nimport work\nwork.run()\nfor _ in range(args.metric_iteration):\n"
        "    score.predictive_score_metrics()\n"
    )
    work = HEAD + training("run", "for iteration in range(9):", mark="  # main")
    assert "# main" in found(tmp_path, train=entry, score=score, work=work)


def test_an_entry_named_after_a_preparation_trains(tmp_path):
    text = "import work\n" + HEAD + training("pretrain", mark="  # main") + "pretrain()\nwork.head()\n"
    work = HEAD + training("head")
    assert "# main" in found(tmp_path, entry="run_pretraining.py", run_pretraining=text, work=work)


def test_the_other_branch_of_a_training_does_not_run_after_it(tmp_path):
    measured = "def measure():\n    print('test loss', ((model(loader[0][0]) - 1) ** 2).mean().item())\n"
    text = HEAD + training("fit") + measured + "if not args.test:\n    fit()\nelse:\n    measure()\n"
    assert [metric.name for metric in analyse(tmp_path, train=text).metrics if metric.selected] == ["loss"]


def test_the_loop_that_the_entry_calls_wins_over_a_registered_one(tmp_path):
    entry = (
        "import example\nimport work\nfrom registry import TRAINERS\nif config.mode == 'standard':\n    work.run()\n"
        "else:\n    TRAINERS[config.mode]()\n"
    )
    registry = (
        "TRAINERS = {}\ndef register(name):\n    def keep(f):\n        TRAINERS[name] = f\n        return f\n"
        "    return keep\n"
    )
    example = "from registry import register\n" + HEAD + "def helped():\n    pass\n@register('other')\n"
    example += training("other") + "        helped()\n"
    work = HEAD + training("run", mark="  # main")
    assert "# main" in found(tmp_path, train=entry, registry=registry, example=example, work=work)


def test_of_classes_in_a_list_the_one_that_an_option_names_is_read(tmp_path):
    parser = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--kind', default='Second')\nargs = parser.parse_args()\n"
    )
    kinds = "".join(
        f"class {name}:\n    name = '{name}'\n" + textwrap.indent(training("fit", mark=f"  # {name}"), "    ")
        for name in ("First", "Second", "Third")
    )
    text = (
        HEAD
        + parser
        + kinds
        + "for kind in [First, Second, Third]:\n    if kind.name == args.kind:\n        made = kind()\nmade.fit()\n"
    )
    assert "# Second" in found(tmp_path, train=text)


@pytest.mark.parametrize("call", ["trainer.train()", "self_play.agents[0].train()"])
def test_a_common_method_of_what_is_not_known_is_of_the_class_called_alike(tmp_path, call):
    classes = "".join(
        f"class {name}:\n" + textwrap.indent(training("train", "for step in range(n_steps):"), "    ")
        for name in ("GraphTrainer", "PlayingAgent")
    )
    text = HEAD + classes + "made = [GraphTrainer, PlayingAgent]\nfor i in range(n_epochs):  # main\n" + f"    {call}\n"
    assert "# main" in found(tmp_path, train=text)


def test_a_parameter_that_is_declared_a_class_of_the_project_is_one(tmp_path):
    entry = "from work import Experiment\ndef main(made: Experiment):\n    made.get().train()\nlaunch(main)\n"
    work = (
        HEAD + "class Loop:\n" + textwrap.indent(training("train", mark="  # main"), "    ")
        + "class Experiment:\n    def get(self):\n        return Loop()\n"
    )  # fmt: skip
    assert "# main" in found(tmp_path, train=entry, work=work)


GRAPH = """
import tensorflow as tf
class Agent:
    def __init__(self):
        self.op = minimised(loss)
def minimised(loss):
    return tf.train.AdamOptimizer().minimize(loss)
agents = []
for number in range(n_agents):
    agents.append(Agent())
"""


def test_to_make_an_operation_that_trains_is_no_training(tmp_path):
    text = GRAPH + (
        "reward = 0\nsteps = 0\nwhile True:  # main\n    reward = env.step(agents)\n    steps += 1\n"
        "    print('steps', steps, 'mean reward', reward)\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_operations_that_a_list_names_train(tmp_path):
    text = (
        "import tensorflow as tf\nops = make_ops()\nrun_ops = [ops['loss'], ops['train_op']]\n"
        "with tf.Session() as sess:\n    while True:  # main\n        loss, _ = sess.run(run_ops)\n"
        "        print('loss', loss)\n        for step in range(9):\n            print('step', step)\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_what_makes_a_session_tells_that_it_is_one(tmp_path):
    text = (
        "import tensorflow as tf\nsv = tf.train.Supervisor()\nwith sv.managed_session() as s:\n"
        "    while not sv.should_stop():  # main\n        _, loss = s.run([train_op, op])\n"
        "        print('loss', loss)\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_a_function_that_gives_the_session_runs_what_trains(tmp_path):
    text = (
        "import tensorflow as tf\ndef the_session():\n    return tf.get_default_session()\n"
        "while True:  # main\n    _, loss = the_session().run([train_op, op])\n"
        "    if loss < 0.1:\n        print('loss', loss)\n        break\n"
    )
    assert "# main" in found(tmp_path, train=text)


@pytest.mark.parametrize(
    "call",
    ["LightningCLI(Net, Data)", "mod.fit(data, num_epoch=3)"],
)
def test_more_calls_that_train_in_a_library(tmp_path, call):
    text = "import mxnet as mx\nfrom lightning.pytorch.cli import LightningCLI\nmod = mx.mod.Module(net)\n"
    assert "# main" in found(tmp_path, train=text + f"{call}  # main\n")


def test_a_session_that_reads_the_step_trains_nothing(tmp_path):
    text = (
        "import tensorflow as tf\nclass Hook:\n    def after_run(self, context):\n"
        "        self.step = context.session.run(self.tensor)\n        print('step', self.step)\n"
        "def main(_):\n    estimator = tf.estimator.Estimator(model_fn)\n"
        "    estimator.train(input_fn=data, max_steps=9, hooks=[Hook()])  # main\ntf.app.run()\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_of_alternatives_that_nothing_decides_the_one_that_most_classes_inherit_is_taken(tmp_path):
    kinds = "".join(
        f"class {name}({base}):\n" + textwrap.indent(training("train_all", mark=f"  # {name}"), "    ")
        for name, base in (("Other", "object"), ("Usual", "object"))
    )
    kinds += "".join(f"class Kind{n}(Usual):\n    pass\n" for n in range(3))
    text = "import kinds\ngetattr(kinds, input())().train_all()\n"
    assert "# Usual" in found(tmp_path, train=text, kinds=HEAD + kinds)


def test_of_alternatives_that_nothing_decides_the_one_that_the_project_is_called_like_is_taken(tmp_path):
    kinds = "".join(
        f"class {name}:\n" + textwrap.indent(training("train_all", mark=f"  # {name}"), "    ")
        for name in ("First", "FastOne", "Last")
    )
    (tmp_path / "fast-one").mkdir()
    text = "import kinds\ngetattr(kinds, input())().train_all()\n"
    assert "# FastOne" in found(tmp_path / "fast-one", train=text, kinds=HEAD + kinds)


FITS = "import pytorch_lightning as pl\ntrainer = pl.Trainer(max_epochs=3)\n"


def test_a_training_of_a_library_that_is_handed_on_is_the_main_loop(tmp_path):
    text = FITS + "def quietly(call, **given):\n    return call(**given)\nquietly(trainer.fit, model=model)  # main\n"
    assert "# main" in found(tmp_path, train=text)


def test_a_method_that_leaves_the_training_to_a_library_is_the_librarys(tmp_path):
    text = (
        "import tensorflow as tf\nclass Estimator(tf.estimator.Estimator):\n"
        "    def train(self, input_fn, max_steps):\n        return super().train(input_fn, max_steps=max_steps)\n"
        "made = Estimator(model_fn)\nmade.train(input_fn=data, max_steps=9)  # main\n"
    )
    assert "# main" in found(tmp_path, train=text)


SCANNED = """
import jax
import optax
from jax import lax

def make_train(config):
    optimiser = optax.adam(config["rate"])

    def train(key):
        def update(state, batch):
            params, inner = state
            loss, grads = jax.value_and_grad(error)(params, batch)
            change, inner = optimiser.update(grads, inner)
            return (optax.apply_updates(params, change), inner), loss

        def epoch(state, _):
            state, losses = lax.scan(update, state, batches)

            def show(info):
                return_values = info["returns"]
                for at in range(len(return_values)):
                    print(f"at {at}, episodic return={return_values[at]}")

            jax.debug.callback(show, losses)
            return state, losses

        return jax.lax.scan(epoch, start, None, config["epochs"])

    return train

out = jax.jit(make_train({"rate": 0.1, "epochs": 3}))(jax.random.PRNGKey(0))
"""


def test_the_outermost_of_compiled_loops_is_the_main_loop(tmp_path):
    findings = analyse(tmp_path, train=SCANNED)
    loop = findings.main_loop
    assert (loop.variable, loop.kind, SCANNED.splitlines()[loop.line - 1].strip().split("(")[0]) == (
        "jax.lax.scan", "call", "return jax.lax.scan",
    )  # fmt: skip


def test_a_loop_around_a_compiled_one_is_the_main_loop(tmp_path):
    loop = "for epoch in range(3):\n    state = jax.jit(make_train({'rate': 0.1, 'epochs': 3}))(epoch)\n"
    findings = analyse(tmp_path, train=SCANNED.partition("\nout =")[0] + "\n" + loop)
    assert (findings.main_loop.variable, findings.main_loop.kind) == ("epoch", "for")


def test_a_loop_that_only_replays_the_schedule_gives_way_to_the_training(tmp_path):
    text = (
        HEAD + "def run(start_epoch, n_epochs):\n    for i in range(1, start_epoch):\n        optimizer.step()\n"
        "        scheduler.step()\n    for epoch in range(start_epoch, n_epochs):  # main\n        fit()\n"
        + training("fit", over="for i in range(2):") + "run(3, 9)\n"
    )  # fmt: skip
    assert "# main" in found(tmp_path, train=text)


def test_what_a_loop_takes_from_several_is_of_the_class_that_these_are_called_like(tmp_path):
    classes = "".join(
        f"class {name}:\n" + textwrap.indent(training("train", "for step in range(n_steps):"), "    ")
        for name in ("Client", "Teacher")
    )
    server = "class Server:\n    def train_all(self):\n        for c in self.chosen_clients:\n            c.train()\n"
    text = HEAD + classes + server + "server = Server()\nfor i in range(n_rounds):  # main\n    server.train_all()\n"
    text += "clients = [Client()]\n"
    assert "# main" in found(tmp_path, train=text)


def test_a_function_that_mappings_hold_is_called_by_its_key(tmp_path):
    text = (
        HEAD + training("fit", over="for i in range(2):")
        + "def options():\n    return {'runs': {'train': {'run_step': fit, 'size': 3}}}\n"
        "class Engine:\n    def __init__(self, run_step):\n        self.run_step = run_step\n"
        "    def run(self):\n        for epoch in range(9):  # main\n            self.run_step()\n"
        "made = load(options)['runs']['train']\nengine = Engine(made['run_step'])\nengine.run()\n"
    )  # fmt: skip
    assert "# main" in found(tmp_path, train=text)


def test_what_is_handed_on_by_keywords_is_what_the_callers_give(tmp_path):
    text = (
        HEAD + "class Agent:\n    def update(self):\n" + textwrap.indent(STEP.strip(), "        ")
        + "\nclass Base:\n    def __init__(self, agent, size):\n        self.agent = agent\n"
        "class Trainer(Base):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n"
        "    def train(self):\n        for i in range(self.steps):  # main\n            self.agent.update()\n"
        "class Other:\n    def update(self):\n        pass\n"
        "Trainer(agent=Agent(), size=3).train()\nOther().update()\n"
    )  # fmt: skip
    loop = analyse(tmp_path, train=text).main_loop
    assert loop is not None
    assert loop.why == "the outermost loop that trains (backward)"


@pytest.mark.parametrize("count", ["n_epoch_init", "args.warmup_epochs"])
def test_of_two_loops_over_epochs_the_one_that_counts_a_preparation_is_not_the_main_one(tmp_path, count):
    text = (
        HEAD
        + training("fit", f"for epoch in range({count}):")
        + training("tune", "for epoch in range(start_init, n_epoch):", mark="  # main")
    )
    assert "# main" in found(tmp_path, train=text + "fit()\ntune()\n")


def test_a_loop_of_jax_that_trains_is_the_main_one_where_there_is_no_other(tmp_path):
    text = (
        "import jax\ndef make(n):\n    def update(state, batch):\n        def minibatch(state, part):\n"
        "            return state.apply_gradients(grads=jax.grad(loss)(state.params, part)), 0\n"
        "        return jax.lax.scan(minibatch, state, batch)\n    def train(state):\n"
        "        return jax.lax.scan(update, state, data, n)  # main\n    return train\n"
        "state, losses = jax.jit(make(9))(start)\nprint('loss', losses.mean())\n"
    )
    assert "# main" in found(tmp_path, train=text)
    assert "# outer" in found(tmp_path, train=text + "for epoch in range(3):  # outer\n    jax.jit(make(9))(start)\n")


def test_rounds_of_clients_that_are_counted_as_global_epochs_are_the_main_loop(tmp_path):
    text = HEAD + training("local", made=OPTIMISER) + "for i in range(args.global_eps):  # main\n    local()\n"
    assert "# main" in found(tmp_path, train=text)


def test_of_alternatives_the_loop_that_counts_what_the_entry_gives_by_name_is_taken(tmp_path):
    ways = training("train_slowly", "while state.step < most['steps']:") + training(
        "train_quickly", "for i in range(iterations):", mark="  # main"
    ).replace("optimizer=optimizer", "optimizer=optimizer, iterations=3")
    work = HEAD + ways + "def fit(how, iterations):\n    if how.is_slow():\n        train_slowly()\n    else:\n"
    work += "        train_quickly(iterations=iterations)\n"
    entry = "import work\nwork.fit(settings.way(), iterations=900)\n"
    assert "# main" in found(tmp_path, train=entry, work=work)


@pytest.mark.parametrize("over", ["range(0, FLAGS.pretrain_steps)", "tqdm.trange(0, FLAGS.pretrain_steps)"])
def test_of_two_loops_over_steps_the_one_whose_bar_counts_a_preparation_is_not_the_main_one(tmp_path, over):
    if over.startswith("range"):
        over = f"tqdm.tqdm({over}, disable=not FLAGS.bar)"
    text = HEAD + f"for i in {over}:\n    fit()\n" + training("fit", "for part in loader:")
    text += "for i in tqdm.tqdm(range(0, FLAGS.max_steps + 1)):  # main\n    fit()\n"
    assert "# main" in found(tmp_path, train=text)


@pytest.mark.parametrize("over", ["chosen_clients", "np.sort(users)", "range(args.num_clients)"])
def test_a_count_of_exchanges_with_clients_that_train_anew_each_is_the_main_loop(tmp_path, over):
    text = HEAD + training("local", made=OPTIMISER) + "def serve(much):\n    for i in range(much):  # main\n"
    text += f"        for c in {over}:\n            local()\n"
    assert "# main" in found(tmp_path, train=text + "serve(9)\n")
    assert "# main" in found(tmp_path, train=text + "for i in range(n_settings):\n    serve(9)\n")


@pytest.mark.parametrize(("made", "kind"), [("model.compile(loss='mse', optimizer='adam')", "call"), ("pass", "for")])
def test_a_loop_that_compiles_each_model_that_keras_trains_repeats_trainings(tmp_path, made, kind):
    text = (
        f"import keras\ndef fit_one(data):\n    model = build()\n    {made}\n"
        "    model.fit(data, epochs=9, batch_size=2)\nfor it in range(5):\n    fit_one(load(it))\n"
    )
    assert analyse(tmp_path, train=text).main_loop.kind == kind


def test_a_probe_that_a_callback_trains_runs_within_the_training_of_the_library(tmp_path):
    probe = training("on_epoch_end", "for epoch in range(self.epochs):").replace(
        "(model", "(self, trainer, module, model"
    )
    text = HEAD + "import pytorch_lightning as pl\nclass Probe(pl.Callback):\n" + textwrap.indent(probe, "    ")
    text += "class Net(pl.LightningModule):\n    def training_step(self, batch, i):\n        return self(batch)\n"
    text += "trainer = pl.Trainer(callbacks=[Probe()])\ntrainer.fit(Net(), loader)  # main\n"
    assert "# main" in found(tmp_path, train=text)


@pytest.mark.parametrize(("over", "kind"), [("i, label in enumerate(labels)", "call"), ("i in range(5)", "for")])
def test_to_number_what_a_library_trains_for_is_to_repeat_trainings(tmp_path, over, kind):
    text = f"import lightgbm as lgb\nfor {over}:\n    model = lgb.train(options, data(i))\n"
    assert analyse(tmp_path, train=text).main_loop.kind == kind


@pytest.mark.parametrize("over", ["while n_iter < LBFGS['maxiter']:", "for i in range(lbfgs_steps):"])
def test_of_two_ways_to_train_the_one_that_refines_is_not_the_main_one(tmp_path, over):
    first = training("slowly", "for i in range(iterations):", mark="  # main").replace("(model", "(iterations, model")
    text = HEAD + training("refine", over) + first + "if way:\n    refine()\nelse:\n    slowly(9)\n"
    assert "# main" in found(tmp_path, train=text)


def test_pairs_of_low_and_high_resolution_are_no_learning_rates(tmp_path):
    step = textwrap.indent(STEP.strip(), "    ").replace("model(x) - y", "model(lr) - hr")
    assert "# main" in found(tmp_path, train=HEAD + f"for lr, hr in loader:  # main\n{step}\n")


def test_a_loop_that_hands_out_batches_is_not_the_one_that_trains_on_them(tmp_path):
    text = (
        "import tensorflow as tf\ndef batches(size):\n    with tf.Session() as sess:\n"
        "        train_batch = make(size)\n"
        "        while True:\n            yield sess.run(train_batch)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "model.fit_generator(batches(4), epochs=3)  # main\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_a_command_line_derived_from_that_of_lightning_trains(tmp_path):
    text = (
        "from lightning.pytorch.cli import LightningCLI\nclass OwnCLI(LightningCLI):\n"
        "    def add_arguments_to_parser(self, parser):\n        parser.set_defaults({'seed': 1})\n"
        "OwnCLI(Net, Data)  # main\n"
    )
    assert "# main" in found(tmp_path, train=text)


def test_a_loop_around_trainings_whose_optimiser_is_taken_by_its_name_repeats_them(tmp_path):
    made = "optimizer = getattr(torch.optim, KIND)(model.parameters(), lr=0.1)"
    text = HEAD + "KIND = 'SGD'\n" + training("fit", made=made) + "for sub in subjects:\n    fit()\n"
    assert found(tmp_path, train=text).strip() == "for epoch in range(3):"


def test_a_loop_that_hands_epochs_to_a_library_is_the_main_loop_where_nothing_else_trains(tmp_path):
    text = (
        "import segmentation\nepochs = 3\ntrain_epoch = segmentation.TrainEpoch()\n"
        "for i in range(epochs):\n    print('Epoch: {}'.format(i))\n    train_epoch.run(loader)\n"
    )
    assert found(tmp_path, train=text) == "for i in range(epochs):"


def test_what_is_put_into_a_table_of_an_object_under_a_key_runs_where_the_object_calls_it(tmp_path):
    engine = """
    class Engine:
        def __init__(self):
            self.hooks = {name: lambda state: None for name in ['on_step']}
        def train(self, epochs):
            for epoch in range(epochs):
                self.hooks['on_step']({'epoch': epoch})
    """
    step = textwrap.indent(STEP.strip(), " " * 8)
    text = f"{HEAD}from engine import Engine\ndef on_step(state):\n    for x, y in loader:\n{step}\n"
    text += "runs = Engine()\nruns.hooks['on_step'] = on_step\nruns.train(epochs=3)\n"
    assert found(tmp_path, train=text, engine=textwrap.dedent(engine)).strip() == "for epoch in range(epochs):"


def test_a_loop_over_a_data_loader_is_no_repetition_whatever_its_batches_are_called(tmp_path):
    text = HEAD + training("fit", over="for train_data in train_dataloader:").replace(
        "for x, y in loader", "if train_data"
    )
    assert found(tmp_path, train=text + "fit()\n").strip() == "for train_data in train_dataloader:"


def test_of_trainings_that_a_library_runs_the_one_of_a_teacher_is_not_the_main_one(tmp_path):
    text = (
        "import keras\nteacher = keras.Sequential([])\ndistiller = keras.Sequential([])\n"
        "teacher.compile(loss='mse')\nteacher.fit(x, y, epochs=5)\n"
        "distiller.compile(loss='mse')\ndistiller.fit(x, y, epochs=3)\n"
    )
    assert found(tmp_path, train=text) == "distiller.fit(x, y, epochs=3)"
