import argparse
import json
import os

import torch
import torch.nn as nn

from data import get_loaders
from engine import evaluate, train_one_epoch
from models import build_model
from utils import get_logger, save_checkpoint, set_seed


def get_args():
    parser = argparse.ArgumentParser("Small CNN on handwritten digits")
    parser.add_argument("--config", default="configs/small.json")
    parser.add_argument("--epochs", type=int, help="overrides the config")
    parser.add_argument("--lr", type=float, help="overrides the config")
    parser.add_argument("--seed", type=int, help="overrides the config")
    parser.add_argument("--print-freq", type=int, help="overrides the config")
    parser.add_argument("--output", default="checkpoints", help="folder of checkpoints and log")
    parser.add_argument("--fresh", action="store_true", help="do not resume from a checkpoint in --output")
    return parser.parse_args()


def get_config(args):
    with open(args.config) as f:
        config = json.load(f)
    for key in ("epochs", "lr", "seed", "print_freq"):
        if getattr(args, key) is not None:
            config[key] = getattr(args, key)
    return config


def main():
    args = get_args()
    config = get_config(args)
    logger = get_logger(os.path.join(args.output, "train.log"))
    logger.info("config: %s", json.dumps(config))
    set_seed(config["seed"])

    train_loader, val_loader = get_loaders(config["batch_size"])
    model = build_model(config)
    logger.info("parameters: %d", sum(p.numel() for p in model.parameters()))
    criterion = nn.CrossEntropyLoss(label_smoothing=config["label_smoothing"])
    optimizer = torch.optim.SGD(
        model.parameters(), lr=config["lr"], momentum=config["momentum"], weight_decay=config["weight_decay"]
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config["epochs"])

    start_epoch, best_acc1 = 0, 0.0
    checkpoint_path = os.path.join(args.output, "last.pt")
    if os.path.exists(checkpoint_path) and not args.fresh:
        checkpoint = torch.load(checkpoint_path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler.load_state_dict(checkpoint["scheduler"])
        start_epoch = checkpoint["epoch"]
        best_acc1 = checkpoint["best_acc1"]
        logger.info("resumed from %s at epoch %d", checkpoint_path, start_epoch)

    for epoch in range(start_epoch, config["epochs"]):
        train_stats = train_one_epoch(model, train_loader, criterion, optimizer, epoch, config["print_freq"])
        val_stats = evaluate(model, val_loader, criterion)
        scheduler.step()

        is_best = val_stats["acc1"] > best_acc1
        best_acc1 = max(val_stats["acc1"], best_acc1)
        logger.info(
            "Epoch %d: lr %.4f  train loss %.4f  train Acc@1 %.2f  val loss %.4f  val Acc@1 %.2f  val Acc@3 %.2f  best %.2f",
            epoch, optimizer.param_groups[0]["lr"], train_stats["loss"], train_stats["acc1"],
            val_stats["loss"], val_stats["acc1"], val_stats["acc3"], best_acc1,
        )
        save_checkpoint(
            {
                "epoch": epoch + 1,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "best_acc1": best_acc1,
            },
            is_best,
            args.output,
        )

    logger.info("done, best val Acc@1 %.2f", best_acc1)


if __name__ == "__main__":
    main()
