"""Whether Keras logs an accuracy, and under which name."""

import pytest
from analysed_projects import analyse, names

OLD = "from keras.optimizers import SGD\nway = SGD(lr=0.1)\n"
NEW = "from keras.optimizers import SGD\nway = SGD(learning_rate=0.1)\n"
PART = "from tensorflow.keras.optimizers import SGD\nway = SGD(lr=0.1)\n"


@pytest.mark.parametrize(
    ("head", "requirements", "expected"),
    [
        (NEW, "", "accuracy"),
        (NEW, "keras==2.2.4", "acc"),
        (NEW, "Keras==2.1", "acc"),
        (OLD, "", "acc"),
        (OLD, "keras==2.3.1", "accuracy"),
        (PART, "", "accuracy"),
        (PART, "tensorflow-gpu==1.14.0", "acc"),
        (PART, "tensorflow==2.4.1", "accuracy"),
        (PART + "name = 'at-{epoch}-{val_acc:.2f}.h5'\n", "", "acc"),
        (OLD + "best = max(done['val_accuracy'])\n", "", "accuracy"),
        (PART + "from keras.callbacks import EarlyStopping\nstop = EarlyStopping(monitor='acc')\n", "", "acc"),
    ],
)
def test_an_accuracy_has_the_name_of_the_keras_that_the_program_is_written_for(tmp_path, head, requirements, expected):
    (tmp_path / "requirements.txt").write_text(requirements + "\n")
    train = f"{head}net = make()\nnet.compile(way, 'mse', metrics=['accuracy'])\nnet.fit(x, y)\n"
    assert set(names(analyse(tmp_path, train=train))) == {"fit:loss", f"fit:{expected}"}


def test_an_accuracy_that_is_spelt_out_keeps_its_name_in_every_keras(tmp_path):
    train = f"{OLD}net = make()\nnet.compile(way, 'mse', metrics=['binary_accuracy'])\nnet.fit(x, y)\n"
    assert set(names(analyse(tmp_path, train=train))) == {"fit:loss", "fit:binary_accuracy"}


def test_a_model_is_fitted_as_the_branch_of_the_call_compiles_it(tmp_path):
    train = """
    import keras
    def fit(net, data):
        net.fit(data, epochs=3)
    def fit_quietly(net, data):
        net.fit(data, epochs=3)
    def main(net, data, is_quiet):
        if is_quiet:
            net.compile('adam', loss='mse')
            fit_quietly(net, data)
        else:
            net.compile('adam', loss='mse', metrics=['accuracy'])
            fit(net, data)
    main(make(), read(), input())
    """
    found = {(metric.function, metric.variable) for metric in analyse(tmp_path, train=train).metrics}
    assert found == {("fit", "fit:loss"), ("fit", "fit:accuracy"), ("fit_quietly", "fit:loss")}
