import logging
import time

import torch

from utils import AverageMeter, accuracy

logger = logging.getLogger("digits")


def train_one_epoch(model, loader, criterion, optimizer, epoch, print_freq):
    batch_time, losses, top1 = AverageMeter(), AverageMeter(), AverageMeter()
    model.train()
    end = time.perf_counter()
    for i, (images, target) in enumerate(loader):
        output = model(images)
        loss = criterion(output, target)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        acc1, = accuracy(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(acc1, images.size(0))
        batch_time.update(time.perf_counter() - end)
        end = time.perf_counter()

        if i % print_freq == 0:
            logger.info(
                "Epoch: [%d][%d/%d]  Time %.3f (%.3f)  Loss %.4f (%.4f)  Acc@1 %.2f (%.2f)",
                epoch, i, len(loader), batch_time.val, batch_time.avg,
                losses.val, losses.avg, top1.val, top1.avg,
            )
    return {"loss": losses.avg, "acc1": top1.avg}


@torch.no_grad()
def evaluate(model, loader, criterion):
    losses, top1, top3 = AverageMeter(), AverageMeter(), AverageMeter()
    model.eval()
    for images, target in loader:
        output = model(images)
        acc1, acc3 = accuracy(output, target, topk=(1, 3))
        losses.update(criterion(output, target).item(), images.size(0))
        top1.update(acc1, images.size(0))
        top3.update(acc3, images.size(0))
    return {"loss": losses.avg, "acc1": top1.avg, "acc3": top3.avg}
