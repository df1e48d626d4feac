"""Write projects of a wanted size: packages of data sets, models, losses, logging and training loops, from a seed."""

from __future__ import annotations

import random
from pathlib import Path

#: Words that names are made of, so that files differ as those of one project do.
NOUNS = ("image", "text", "speech", "graph", "video", "audio", "table", "point", "voxel", "frame", "token", "depth")
ADJECTIVES = ("deep", "wide", "small", "large", "sparse", "dense", "fast", "robust", "masked", "noisy", "gated")
LAYERS = {
    "Conv2d": "nn.Conv2d({a}, {b}, kernel_size=3, padding=1, bias=False)",
    "Linear": "nn.Linear({a}, {b})",
    "Norm": "nn.BatchNorm2d({b})",
    "Dropout": "nn.Dropout(p=args.dropout)",
    "Attention": "nn.MultiheadAttention({b}, num_heads=4, batch_first=True)",
}

METERS = '''
class AverageMeter:
    """Keep the latest value and the average."""

    def __init__(self, name, fmt=":.4f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.sum = self.avg = 0.0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / max(self.count, 1)

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


class Logger:
    """Write to a file and to the terminal."""

    def __init__(self, path, writer=None):
        self.path, self.writer, self.rows = path, writer, {}

    def info(self, message):
        with open(self.path, "a") as out:
            out.write(message + "\\n")
        print(message)

    def scalar(self, tag, value, step):
        self.rows.setdefault(tag, []).append(value)
        if self.writer is not None:
            self.writer.add_scalar(tag, value, step)
'''

DATA = '''
class {Name}Dataset(Dataset):
    """Samples of one split, kept in memory."""

    def __init__(self, root, split="train", transform=None):
        self.root, self.split, self.transform = root, split, transform
        self.samples = self._scan(os.path.join(root, split))

    def _scan(self, folder):
        found = []
        for label, name in enumerate(sorted(os.listdir(folder))):
            for file in sorted(os.listdir(os.path.join(folder, name))):
                found.append((os.path.join(folder, name, file), label))
        print(f"{{self.split}}: {{len(found)}} samples in {{folder}}")
        return found

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        sample = np.load(path).astype("float32") / {scale}
        if self.transform is not None:
            sample = self.transform(sample)
        return torch.from_numpy(sample), label


def make_{name}_loaders(args):
    train = {Name}Dataset(args.data, "train")
    val = {Name}Dataset(args.data, "val")
    shared = dict(batch_size=args.batch_size, num_workers=args.workers, pin_memory=True)
    return DataLoader(train, shuffle=True, drop_last=True, **shared), DataLoader(val, **shared)
'''

LOSS = '''
class {Name}Loss(nn.Module):
    """Cross entropy with a penalty."""

    def __init__(self, weight={weight}, smoothing=0.1):
        super().__init__()
        self.weight, self.smoothing = weight, smoothing

    def forward(self, output, target):
        likelihood = F.log_softmax(output, dim=-1)
        nll = -likelihood.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
        smooth = -likelihood.mean(dim=-1)
        return ((1.0 - self.smoothing) * nll + self.smoothing * smooth).mean() + self.weight * output.pow(2).mean()


def {name}_accuracy(output, target, topk=(1, 5)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0) * 100.0 / target.size(0) for k in topk]
'''

ENGINE = """
def train_one_epoch(model, criterion, optimizer, loader, epoch, args, logger):
    batch_time, data_time = AverageMeter("Time"), AverageMeter("Data")
    losses, top1 = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f")
    model.train()
    end = time.time()
    for step, (images, target) in enumerate(loader):
        data_time.update(time.time() - end)
        images, target = images.to(args.device), target.to(args.device)
        output = model(images)
        loss = criterion(output, target)
        acc1, acc5 = {name}_accuracy(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(acc1.item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        batch_time.update(time.time() - end)
        end = time.time()
        if step % args.print_freq == 0:
            logger.info(
                f"Epoch [{{epoch}}][{{step}}/{{len(loader)}}]\\t{{batch_time}}\\t{{data_time}}\\t"
                f"{{losses}}\\t{{top1}}\\tgrad norm {{norm:.3f}}\\tlr {{optimizer.param_groups[0]['lr']:.2e}}"
            )
            logger.scalar("train/loss", losses.avg, epoch * len(loader) + step)
            logger.scalar("train/acc1", top1.avg, epoch * len(loader) + step)
    return {{"loss": losses.avg, "acc1": top1.avg}}


@torch.no_grad()
def evaluate(model, criterion, loader, args, logger):
    losses, top1, top5 = AverageMeter("Loss"), AverageMeter("Acc@1"), AverageMeter("Acc@5")
    model.eval()
    for images, target in loader:
        images, target = images.to(args.device), target.to(args.device)
        output = model(images)
        acc1, acc5 = {name}_accuracy(output, target)
        losses.update(criterion(output, target).item(), images.size(0))
        top1.update(acc1.item(), images.size(0))
        top5.update(acc5.item(), images.size(0))
    logger.info(" * Acc@1 {{top1.avg:.3f}} Acc@5 {{top5.avg:.3f}} loss {{losses.avg:.4f}}".format(
        top1=top1, top5=top5, losses=losses))
    return {{"loss": losses.avg, "acc1": top1.avg, "acc5": top5.avg}}


def train_{name}(args):
    logger = Logger(args.log)
    loaders = make_{name}_loaders(args)
    model = {Model}(args).to(args.device)
    criterion = {Name}Loss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    best = 0.0
    for epoch in range(args.epochs):
        start = time.time()
        stats = train_one_epoch(model, criterion, optimizer, loaders[0], epoch, args, logger)
        result = evaluate(model, criterion, loaders[1], args, logger)
        scheduler.step()
        best = max(best, result["acc1"])
        row = {{**{{f"train_{{key}}": value for key, value in stats.items()}}, "epoch": epoch, "best": best}}
        logger.info(json.dumps(row))
        logger.info(f"epoch {{epoch}} took {{time.time() - start:.1f}} s")
        logger.info(f"val loss {{result['loss']:.4f}}, best {{best:.2f}}")
        torch.save({{"epoch": epoch, "state": model.state_dict()}}, os.path.join(args.out, "last.pth"))
    return best
"""

ENTRY_HEAD = '''"""Train one of the project's models."""

import argparse

'''

ENTRY_TAIL = """

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default=sorted(TRAININGS)[0], choices=sorted(TRAININGS))
    for name, value in [("data", "data"), ("log", "log.txt"), ("out", "out"), ("device", "cpu")]:
        parser.add_argument("--" + name, default=value)
    for name, value in [("epochs", 90), ("batch_size", 64), ("workers", 4), ("print_freq", 10)]:
        parser.add_argument("--" + name, type=int, default=value)
    for name, value in [("lr", 0.1), ("weight_decay", 1e-4), ("clip", 1.0), ("dropout", 0.1)]:
        parser.add_argument("--" + name, type=float, default=value)
    return parser.parse_args()


if __name__ == "__main__":
    args = parse()
    best = TRAININGS[args.task](args)
    print(f"best accuracy {best:.2f}")
"""


def write_project(folder: Path, lines: int, seed: int = 0) -> int:
    """Write a project whose ``train.py`` reaches at least so many lines; return how many it has."""
    rng = random.Random(seed)
    written = _write(folder / "common" / "__init__.py", "") + _write(folder / "common" / "meters.py", METERS)
    packages: list[str] = []
    while written < lines:
        packages.append(f"{rng.choice(ADJECTIVES)}_{rng.choice(NOUNS)}_{len(packages)}")
        written += _write_package(folder / packages[-1], packages, rng)
    return written + _write(folder / "train.py", _entry(packages))


def _write(path: Path, text: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text.count("\n")


def _entry(packages: list[str]) -> str:
    imports = "".join(f"from {one}.engine import train_{one}\n" for one in packages)
    table = "".join(f'    "{one}": train_{one},\n' for one in packages)
    return f"{ENTRY_HEAD}{imports}\nTRAININGS = {{\n{table}}}\n{ENTRY_TAIL}"


def _write_package(folder: Path, packages: list[str], rng: random.Random) -> int:
    """Write one package; its models may build on those of the package before."""
    name = packages[-1]
    words = {"name": name, "Name": _camel(name), "scale": rng.choice([255.0, 1.0, 32768.0]),
             "weight": round(rng.random(), 3)}  # fmt: skip
    models, last = _models(name, packages[-2] if len(packages) > 1 else "", rng)
    torch = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
    engine = (
        "import json\nimport os\nimport time\n\nimport torch\n\nfrom common.meters import AverageMeter, Logger\n"
        f"from .data import make_{name}_loaders\nfrom .losses import {_camel(name)}Loss, {name}_accuracy\n"
        f"from .models import {last}\n"
    )
    data = "import os\n\nimport numpy as np\nimport torch\nfrom torch.utils.data import DataLoader, Dataset\n"
    return sum([
        _write(folder / "__init__.py", ""),
        _write(folder / "data.py", data + DATA.format(**words)),
        _write(folder / "losses.py", torch + LOSS.format(**words)),
        _write(folder / "models.py", torch + models),
        _write(folder / "engine.py", engine + ENGINE.format(**words, Model=last)),
    ])  # fmt: skip


def _models(name: str, before: str, rng: random.Random) -> tuple[str, str]:
    """Write some blocks and the network that is made of them; return its name too."""
    blocks = [f"{_camel(name)}Block{number}" for number in range(rng.randint(4, 10))]
    text = f"\nfrom {before}.losses import {_camel(before)}Loss\n\nPENALTY = {_camel(before)}Loss()\n" if before else ""
    text += "".join(_block(block, rng) for block in blocks)
    network = f"{_camel(name)}Net"
    made = "".join(f"        self.stage{at} = {block}(args, {2 ** (at + 4)})\n" for at, block in enumerate(blocks))
    run = "".join(f"        x = self.stage{at}(x)\n" for at in range(len(blocks)))
    text += (
        f"\n\nclass {network}(nn.Module):\n    def __init__(self, args):\n        super().__init__()\n{made}"
        f"        self.head = nn.Linear({2 ** (len(blocks) + 4)}, 10)\n\n    def forward(self, x):\n{run}"
        "        return self.head(x.flatten(2).mean(-1))\n"
    )
    return text, network


def _block(name: str, rng: random.Random) -> str:
    chosen = [rng.choice(sorted(LAYERS)) for _ in range(rng.randint(3, 8))]
    made = "".join(
        f"        self.{kind.lower()}{at} = {LAYERS[kind].format(a='width', b='2 * width')}\n"
        for at, kind in enumerate(chosen)
    )
    run = "".join(
        f"        x = F.relu(self.{kind.lower()}{at}(x))\n"
        f"        if self.training and x.numel() > {rng.randint(9, 999)}:\n"
        f"            x = x * {round(rng.random() + 0.5, 2)}\n"
        for at, kind in enumerate(chosen)
    )
    return (
        f"\n\nclass {name}(nn.Module):\n    def __init__(self, args, width):\n        super().__init__()\n"
        f"        self.width, self.rate = width, args.dropout\n{made}\n    def forward(self, x):\n"
        f"        shortcut = x\n{run}"
        "        return x + shortcut if x.shape == shortcut.shape else x\n"
    )


def _camel(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))
