import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"


def main():
    digits = load_digits()
    x = torch.from_numpy((digits.images / 16).astype(np.float32)).unsqueeze(1)
    y = torch.from_numpy(digits.target)
    train = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True, num_workers=2, pin_memory=True)
    test = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=256, num_workers=0, pin_memory=True)
    net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 16, 10)).to(device)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler(device)
    for epoch in range(4):
        net.train()
        total = 0.0
        for a, b in train:
            a, b = a.to(device, non_blocking=True), b.to(device, non_blocking=True)
            with torch.autocast(device, dtype=torch.float16 if device == "cuda" else torch.bfloat16):
                loss = F.cross_entropy(net(a), b)
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            total += loss.item() * len(a)
        net.eval()
        correct = 0
        with torch.no_grad():
            for a, b in test:
                correct += (net(a.to(device)).argmax(1).cpu() == b).sum().item()
        print(f"epoch {epoch + 1}/4 - train_loss: {total / 1400:.5f} - test_accuracy: {correct / 397:.5f}")


if __name__ == "__main__":
    main()
