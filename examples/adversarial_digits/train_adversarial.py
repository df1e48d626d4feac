"""Adversarial training on handwritten digits: the network learns from attacked images.

    python train_adversarial.py --network cnn --attack pgd
"""
import argparse
import time

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import optim

from attacks import ATTACKS
from networks import NETWORKS


class Trainer:
    def __init__(self, args):
        self.args = args
        self.attack = ATTACKS[args.attack]
        self.model = NETWORKS[args.network]().to(args.device)
        self.optimizer = optim.Adam(self.model.parameters(), lr=args.lr)
        self.load_data()

    def load_data(self):
        digits = load_digits()
        x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
        y = torch.tensor(digits.target)
        x, y = x.to(self.args.device), y.to(self.args.device)
        # the last 30 % are for evaluation; no shuffling, since neighbours tend to be by the same hand
        split = int(0.7 * len(y))
        self.x_train, self.y_train = x[:split], y[:split]
        self.x_eval, self.y_eval = x[split:], y[split:]

    def batches(self):
        order = torch.randperm(len(self.y_train))
        for batch in order.to(self.args.device).split(self.args.batch_size):
            yield self.x_train[batch], self.y_train[batch]

    def train_epoch(self):
        self.model.train()
        total_loss = 0.0
        for x, y in self.batches():
            x_adv = self.attack(self.model, x, y, self.args.epsilon)
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x_adv), y)
            loss.backward()
            self.optimizer.step()
            total_loss += loss.item() * len(y)
        return total_loss / len(self.y_train)

    def evaluate(self, x, y, attack):
        self.model.eval()
        x_adv = attack(self.model, x, y, self.args.epsilon)
        with torch.no_grad():
            nat = (self.model(x).argmax(1) == y).float().mean()
            adv = (self.model(x_adv).argmax(1) == y).float().mean()
        return 100 * nat.item(), 100 * adv.item()

    def run(self):
        for epoch in range(1, self.args.epochs + 1):
            start = time.time()
            loss = self.train_epoch()
            train_nat_acc, train_adv_acc = self.evaluate(self.x_train, self.y_train, self.attack)
            eval_nat_acc, eval_adv_acc = self.evaluate(self.x_eval, self.y_eval, self.attack)
            print("=" * 60)
            print("epoch {}, {:.2f} seconds, adversarial loss {:.4f}".format(epoch, time.time() - start, loss))
            print("training nat accuracy: {:.2f}".format(train_nat_acc))
            print("training adv accuracy: {:.2f}".format(train_adv_acc))
            print("eval nat accuracy: {:.2f}".format(eval_nat_acc))
            print("eval adv accuracy: {:.2f}".format(eval_adv_acc))
            if self.args.test_attack:
                _, other_adv_acc = self.evaluate(self.x_eval, self.y_eval, ATTACKS[self.args.test_attack])
                print("eval other adv accuracy: {:.2f}".format(other_adv_acc))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=sorted(NETWORKS), default="mlp")
    parser.add_argument("--attack", choices=sorted(ATTACKS), default="fgsm")
    parser.add_argument("--test-attack", choices=sorted(ATTACKS), help="evaluate under this attack, too")
    parser.add_argument("--epsilon", type=float, default=0.1, help="largest change of a pixel (pixels are 0..1)")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    Trainer(args).run()
