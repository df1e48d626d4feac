import torch.nn as nn


def conv_block(channels_in, channels_out):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class SmallCNN(nn.Module):
    """Two convolution blocks on 8x8 images, then a linear classifier."""

    def __init__(self, width=16, dropout=0.3, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(conv_block(1, width), conv_block(width, 2 * width))
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(2 * width * 2 * 2, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.features(x).flatten(1)
        return self.classifier(self.dropout(x))


MODELS = {"small_cnn": SmallCNN}


def build_model(config):
    return MODELS[config["model"]](width=config["width"], dropout=config["dropout"])
