"""Write a tiny DistilBERT with its tokenizer, and labelled sentences as JSON lines: `reviews.py MODEL DATA`."""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast

GOOD, BAD = ["good", "fine", "great", "lovely"], ["bad", "poor", "dull", "awful"]
WORDS = ["the", "film", "was", "and", "plot", "very", "cast"]


def main() -> None:
    """Write both."""
    model, data = map(Path, sys.argv[1:])
    vocabulary = {word: index for index, word in enumerate(["[PAD]", "[UNK]", *WORDS, *GOOD, *BAD])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    ).save_pretrained(model)
    torch.manual_seed(0)
    config = DistilBertConfig(vocab_size=len(vocabulary), dim=16, n_layers=1, n_heads=2, hidden_dim=32)
    DistilBertModel(config).save_pretrained(model)
    data.mkdir(parents=True)
    rng = random.Random(0)
    for part, size in (("train", 96), ("test", 32)):
        with (data / f"{part}.jsonl").open("w") as file:
            for index in range(size):
                text = " ".join(rng.choices(WORDS, k=rng.randint(4, 9)) + rng.choices((BAD, GOOD)[index % 2], k=2))
                file.write(json.dumps({"text": text, "label": index % 2}) + "\n")


if __name__ == "__main__":
    main()
