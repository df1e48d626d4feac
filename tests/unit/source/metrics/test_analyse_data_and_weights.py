"""Data, what they are normalised by, and weights are no metrics, wherever they are written."""

import pytest
from analysed_projects import analyse, looped, names

BEFORE = """
import json
import numpy as np
import torch.nn.functional as F
from transformers import AutoTokenizer

class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.autograd.Variable(torch.zeros(3), requires_grad=True)
    def forward(self, x):
        return x * self.gates
    def restore(self, config):
        self.gates = config['gates']

gated = Gated()
gated.restore(config)
tokenizer = AutoTokenizer.from_pretrained("small")

def encode(text):
    ids = tokenizer(text, return_tensors="pt").input_ids
    return dict(ids=ids, n=ids.sum().item())

train_data = [encode(text) for text in read()]
"""


@pytest.mark.parametrize(
    "report",
    [
        "text_lens = model(x).sum().item()\nprint(text_lens)",
    ],
)
def test_data_and_weights_are_no_metrics(tmp_path, report):
    found = set(names(analyse(tmp_path, train=looped(report + "\nprint('loss', loss.item())", BEFORE))))
    assert found == {"loss"}


@pytest.mark.parametrize("name", ["loss_std", "fhigh_std"])
def test_a_spread_of_anything_else_is_one(tmp_path, name):
    report = f"scores = read_table('a')\n{name} = scores.std()\n"
    report += f"with open('norm.json', 'w') as file:\n    json.dump({{'{name}': {name}.item()}}, file)"
    assert set(names(analyse(tmp_path, train=looped(report, BEFORE)))) == {name}


PARSER = "parser = argparse.ArgumentParser()\nparser.add_argument('--folder')\nargs = parser.parse_args()\n"


def test_what_a_table_at_a_path_of_the_settings_holds_is_no_setting(tmp_path):
    parser = "import argparse\nimport numpy as np\n" + PARSER
    report = "kept = np.loadtxt(args.folder + '/kept.csv')\nwa_mAP = kept[0]\nprint('mAP: {:.6f}'.format(wa_mAP))"
    assert "wa_mAP" in names(analyse(tmp_path, train=looped(report, parser)))
