"""Numbers are called what their line, key or table calls them."""

from __future__ import annotations

import pytest

from deviate.observe.output.slots import mine_log


def names(text: str) -> list[str]:
    return [
        one.slot.name + (f" [{one.slot.unit}]" if one.slot.unit else "")
        for one in mine_log(text.encode(), "stdout").series
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Epoch 3 | valid ppl 12.5 | 200/2983 batches",
         ["Epoch", "valid ppl", "batches", "total"]),
        ("Test set: Average loss: 0.04, Accuracy: 98/100 (98%)",
         ["Test Average loss", "Test Accuracy", "Test Accuracy total", "Test Accuracy % [%]"]),
        ("Epoch: [0] Time  0.5 ( 0.6)\tLoss 2.3e+00 (2.4)\tAcc@1   1.0 (  0.5)",
         ["Epoch", "Time", "Time (in brackets)", "Loss", "Loss (in brackets)", "Acc@1", "Acc@1 (in brackets)"]),
        ("epoch 3 val acc 92.96%  (0.4s)", ["epoch", "val acc [%]", "time [s]"]),
        ("Test: acc 0.93 [12.5 it/s]", ["Test acc", "Test speed [it/s]"]),
        ("Took 3.2s, loss 0.5 (0.4s)", ["time [s]", "loss", "time in brackets [s]"]),
        ("Wrong (actual, guess): [(6, 8), (8, 1)]",
         [f"column {column} of stdout line 'Wrong (actual, guess): [(N,N), (N,N)]'" for column in range(1, 5)]),
        ("scores [(0.25, 8)]", ["scores", "scores (2)"]),
        ("F1 @ 0.5: 0.123", ["column 1 of stdout line 'F1 @N:N'", "F1"]),
        ("'compile' took 1.0 s", ["compile time [s]"]),
        ("Average batch time: 12.5 ms, 8.1 it/s", ["Average batch time [ms]", "speed [it/s]"]),
        ("Accuracy of the network on the 10000 test images: 53 %",
         ["test images", "test Accuracy of the network [%]"]),
        ("acc 0.95±0.02, mean f1 0.5 +/- 0.1", ["acc", "acc ±", "mean f1", "mean f1 ±"]),
        ("Loss_D: 0.5 D(x): 0.5 D(G(z)): 0.4 / 0.3", ["Loss_D", "D(x)", "D(G(z))", "D(G(z)) (2)"]),
        ("{'train': {'loss': 0.5, 'acc': 1}, 'val': {'loss': 0.25}}", ["train/loss", "train/acc", "val/loss"]),
        ('{"eval/loss": 0.5, "step": 3}', ["eval/loss", "step"]),
        ("epoch=1 step=10 test/acc=0.5", ["epoch", "step", "test/acc"]),
        ("95.3% accuracy, 0.3 loss", ["accuracy [%]", "loss"]),
        ("Training: loss 0.3 acc 0.9 Validation: loss 0.4 acc 0.8",
         ["Training loss", "Training acc", "Validation loss", "Validation acc"]),
        ("mean reward (100 episodes): 23.4", ["episodes", "mean reward"]),
        ("mean reward (last 100 episodes): 23.4", ["episodes", "mean reward"]),
        ("Accuracy (fold 3): 0.9", ["fold", "Accuracy"]),
        ("Avg. return over last 20 episodes (seed 3): 12.3", ["episodes", "seed", "Avg. return"]),
        ("reward (env Pole-v1, seed 0) = 0.612", ["seed", "reward"]),
        ("mAP (IoU 0.5): 0.33", ["IoU", "mAP"]),
        ("AUC (macro) = 0.9 AUC (micro) = 0.8", ["AUC (macro)", "AUC (micro)"]),
        ("Step 3 (val acc): 0.9", ["Step", "val acc"]),
        ("Mean return of the last 10 episodes: 24.1", ["episodes", "Mean return"]),
        ("mean error over 20 validation batches: 66.1", ["validation batches", "validation mean error"]),
        ("Avg. return over 5 games = 24.1", ["games", "Avg. return"]),
        ("Mean error of the best 10% of games: 2.5", ["games [%]", "Mean error"]),
        ("Best score 10 games: 24.5", ["games", "Best score"]),
        ("Loss after epoch 3: 0.4", ["step", "Loss after epoch"]),
        ("NDCG 10: 0.31", ["step", "NDCG"]),
        ("Correct 53 total: 100", ["Correct", "total"]),
        ("acc 95 epoch: 3", ["acc", "epoch"]),
        ("acc 95 epoch: 0.5", ["acc", "epoch"]),
        ("Finished in 3.2 seconds", ["Finished time [seconds]"]),
        ("2026-01-05 10:22:33 INFO trainer - val_loss: 0.5", ["val_loss"]),
        ("loss: tensor(0.5123, grad_fn=<NllLossBackward0>)", ["loss"]),
        ("1-NN accuracy 91.2 seconds 0.8", ["1-NN accuracy", "seconds"]),
        ("Population of 150 members in 3 species:", ["Population", "species"]),
        ("Best fitness: 2.9 - size: (1, 2)",
         ["Best fitness", *(f"column {column} of stdout line 'Best fitness:N - size: (N,N)'" for column in (2, 3))]),
        ("best (2, 0.1)", [f"column {column} of stdout line 'best (N,N)'" for column in (1, 2)]),
        ("loss (0.5, 0.3)", ["loss", "loss (2)"]),
        ("283 of 300 correct", ["correct", "total"]),
        ("Total estimated size (MB): 0.5, Avg. loss: 2", ["Total estimated size", "Avg. loss"]),
        ("12 1.54", ["column 1 of stdout line 'N N'", "column 2 of stdout line 'N N'"]),
        ("13/13 ━━━━━━ 0s 3ms/step - accuracy: 0.5 - loss: 0.6",
         ["column 1 of stdout line 'N/N━Ns Ns/step - accuracy:N - loss:N'", "total", "time [s]",
          "time per step [s/step]", "accuracy", "loss"]),
    ],
)  # fmt: skip
def test_names_of_a_line(line, expected):
    assert names(line) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("| epoch | loss | acc |\n|---|---|---|\n| 0 | 0.5 | 50.0% |", ["epoch", "loss", "acc [%]"]),
        ("epoch   train_loss  val_loss\n    0       0.3881    0.4", ["epoch", "train_loss", "val_loss"]),
        ("       loss   val acc\n0  0.319682  0.577688", ["column 1 of stdout line 'N N N'", "loss", "val acc"]),
        ("epoch,loss,acc\n0,0.5,0.25", ["epoch", "loss", "acc"]),
        ("  Iter   Train Loss   Remaining Time\n     1       1.2921            0.01s",
         ["Iter", "Train Loss", "Remaining Time [s]"]),
        ("┃ Test metric ┃ result ┃\n│ test_acc    │ 0.95   │", ["test_acc"]),
        ("|    ep_rew_mean     | 21.5     |", ["ep_rew_mean"]),
        ("   \t    fitness    \t   size   \n   \t---------------\t----------\n"
         "gen\tavg\tmax\tavg\tmax\n0  \t1.78879\t30.34\t3.54667\t7",
         ["gen", "fitness avg", "fitness max", "size avg", "size max"]),
        ("|       | train      | test       |\n| epoch | loss | acc | loss | acc |\n"
         "|     1 |  0.5 | 0.9 |  0.6 | 0.8 |",
         ["epoch", "train loss", "train acc", "test loss", "test acc"]),
        ("epoch  loss  acc  loss  acc\n    1   0.5  0.9   0.6  0.8",
         [f"column {k} of stdout line 'N N N N N'" for k in range(1, 6)]),
    ],
)  # fmt: skip
def test_names_in_a_table(table, expected):
    assert names(table) == expected


REPORT = """
              precision    recall  f1-score   support

           0       0.73      0.66      0.69        29
           1       0.79      0.75      0.77        36

    accuracy                           0.76       100
   macro avg       0.76      0.75      0.75       100
"""


def test_a_report_on_classes_is_named_by_row_and_column():
    mined = {one.slot.name: one.values.tolist() for one in mine_log(REPORT.encode(), "stdout").series}
    assert mined["0 precision"] == [0.73]
    assert mined["1 f1-score"] == [0.77]
    assert mined["accuracy"] == [0.76]
    assert mined["macro avg recall"] == [0.75]


def test_tables_with_other_heads_have_other_slots():
    text = "epoch  loss\n  0  0.5\n  1  0.25\n\nfold  accuracy\n  0  0.75\n"
    mined = {one.slot.name: one.values.tolist() for one in mine_log(text.encode(), "stdout").series}
    assert mined == {"epoch": [0, 1], "loss": [0.5, 0.25], "fold": [0], "accuracy": [0.75]}


def test_rows_between_other_lines_belong_to_the_head_above():
    text = "epoch  loss\n  0  0.5\nsaved\n  1  0.25\n"
    assert {one.slot.name: one.values.tolist() for one in mine_log(text.encode(), "s").series} == {
        "epoch": [0, 1],
        "loss": [0.5, 0.25],
    }


def test_equal_names_are_told_apart_by_the_beginning_of_their_lines():
    assert names("warm-up: loss 0.5\nfine-tuning: loss 0.5") == ["loss (warm-up)", "loss (fine-tuning)"]


def test_a_name_does_not_depend_on_what_else_is_printed_in_the_line_before():
    assert names("Train: loss 0.5") == names("Train: loss 0.5\nVal: loss 0.5")[:1]
