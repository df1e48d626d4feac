"""Which files a program writes is read off the calls that write them."""

import pytest

from deviate.source.analysis import written_names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("open('best.txt', 'w').write(text)", {"best.txt"}),
        ("with open(os.path.join(out, 'runs/best.txt'), mode='a') as file: pass", {"best.txt"}),
        ("BEST = Path('out') / 'best.json'\njson.dump(best, BEST.open('w'))", {"best.json"}),
        ("path = 'model.pt'\ntorch.save(model.state_dict(), path)", {"model.pt"}),
        ("Path('best.txt').write_text(str(best))", {"best.txt"}),
        # What is only read is an input.
        ("data = open('data.txt').read() + np.load('x.npy')\njson.load(open('conf.json', 'r'))", set()),
        ("torch.save(model, name)", set()),
    ],
)
def test_names_of_written_files(tmp_path, source, names):
    (tmp_path / "train.py").write_text(source)
    assert written_names(tmp_path, ["train.py", "gone.py"]) == names
