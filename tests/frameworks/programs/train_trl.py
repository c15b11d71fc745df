# SPDX-License-Identifier: MIT
"""trl: supervised fine-tuning of a small model with a tokenizer made here, and the callback of transformers."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from common_frameworks import DEVICE, IS_USED, STEPS, facts_of, report  # noqa: E402
from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from train_transformers import Leak  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast  # noqa: E402
from trl import SFTConfig, SFTTrainer  # noqa: E402

WORDS = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(61))]


def tokenizer():
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def main():
    rows = Dataset.from_dict({"text": [" ".join(f"w{(row * 7 + at) % 61}" for at in range(24)) for row in range(STEPS * 2)]})
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(WORDS), n_positions=32, n_embd=32, n_layer=2, n_head=2, pad_token_id=0,
                                       eos_token_id=1))
    arguments = SFTConfig("out", max_steps=STEPS, per_device_train_batch_size=2, report_to=[], save_strategy="no", logging_strategy="no",
                          use_cpu=DEVICE == "cpu", bf16=False, max_length=32, disable_tqdm=True)
    callback = None
    if IS_USED:
        from stormlog.integrations.huggingface import StormlogCallback

        callback = StormlogCallback()
    trainer = SFTTrainer(model=model, args=arguments, train_dataset=rows, processing_class=tokenizer(),
                         callbacks=[Leak(), *([callback] if callback else ())])
    trainer.train()
    report(**(facts_of(callback.evidence) if callback else {"steps": STEPS}))
    return trainer


if __name__ == "__main__":
    kept_to_the_end = main()
