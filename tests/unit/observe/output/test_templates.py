"""What is a number in a line and what is not, and which lines have one template."""

from __future__ import annotations

import pytest

from deviate.observe.output.templates import take_apart
from deviate.observe.output.text import read_number


def taken(line: str, thousands: bool = True) -> tuple[str, list[list[str]]]:
    data = line.encode()
    parsed = take_apart(data, thousands)
    return parsed.template.text, [[data[a:b].decode() for a, b in spans] for spans in parsed.fields]


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("loss 0.5 acc=97.1% n=1,234.5", ["0.5", "97.1", "1,234.5"]),
        ("1e-05 -2.5E+3 +0.1 .5 3.", ["1e-05", "-2.5E+3", "+0.1", ".5", "3."]),
        ("3/10 nan inf -inf NaN", ["3", "10", "nan", "inf", "-inf", "NaN"]),
        ("12ms 3.5s 8.2it/s 1.5GB", ["12", "3.5", "8.2", "1.5"]),
        ("loss:-0.5 (0.4) [0.3]", ["-0.5", "0.4", "0.3"]),
        ("0.95±0.02 0.95+/-0.02 5-3", ["0.95", "0.02", "0.95", "0.02", "5", "3"]),
        ("tensor(0.25, device='cuda:0', grad_fn=<MeanBackward0>)", ["0.25"]),
        ("Epoch12 loss0.512 acc1: 0.5", ["12", "0.512", "0.5"]),
        ("v2 conv1 0x7f33 top-5 Acc@1 F1 3D 1st 2-layer 3x224x224 mAP@0.5:0.95 GPU:0", []),
        ("2026-01-05 10:22:33,123 12/31/2026 00:05 Sat Nov 14 10:22:33 2026", []),
        ("1.2.3 192.168.0.1:8080 torch.Size([3, 4]) input_shape=(None, 28, 28) d41d8cd98f00b204", []),
        ("/tmp/run12/a5.pt runs/exp3/model_12.pth https://x.org/5 ./a/5 C:\\a5 train.py:88", []),
        ("inf-norm nan_to_num information", []),
    ],
)
def test_numbers_of_a_line(line, numbers):
    assert [number for [number] in taken(line)[1]] == numbers


def test_a_list_is_one_field():
    assert taken("probs [0.1 0.2  0.3] and [1, 2]") == ("probs ⟨list⟩ and ⟨list⟩", [["0.1", "0.2", "0.3"], ["1", "2"]])


@pytest.mark.parametrize(
    "lines",
    [
        ["loss:   0.5 | acc  7%", "loss: 12.5 | acc 100%"],
        ["[  1/100] a", "[100/100] a"],
        ["2026-01-05 10:22:33,123 loss 1", "2025-12-05 09:00:00,001 loss 5"],
        ["saved /tmp/a1/x.pt 0.5", "saved /home/me/y2.pt 0.5"],
        ["████ 5", "██▌  5"],
        ["[=>.] loss 5", "[==>] loss 4"],
        ["job 8f3a9c21 0.5", "job 0a11bc9d 0.4"],
    ],
)
def test_lines_with_one_template(lines):
    assert len({taken(line)[0] for line in lines}) == 1


@pytest.mark.parametrize("lines", [["acc1 0.5", "acc5 0.5"], ["train 1 2", "train 1/2"], ["a 5", "b 5"]])
def test_lines_with_two_templates(lines):
    assert len({taken(line)[0] for line in lines}) == 2


def test_commas_part_values_where_the_log_says_so():
    assert taken("1,100,200", thousands=False)[1] == [["1"], ["100"], ["200"]]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("0.50", (0.5, 2)),
        ("1.2e5", (120000.0, -4)),
        ("1e-05", (1e-05, 5)),
        ("12", (12.0, 0)),
        ("1_000", (1000.0, 0)),
        ("3 apples", None),
        ("", None),
    ],
)
def test_a_number_and_its_digits(word, expected):
    assert read_number(word) == expected
