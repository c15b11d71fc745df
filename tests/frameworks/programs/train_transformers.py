# SPDX-License-Identifier: MIT
"""transformers: a small GPT-2 from scratch in the Trainer, with evaluation, and the callback. FRAMEWORK_FAILS: it raises in the middle."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
from common_frameworks import DEVICE, IS_USED, STEPS, facts_of, keep_one, note_base, note_counters, report  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments  # noqa: E402

VOCABULARY, LENGTH = 64, 32


class Rows(torch.utils.data.Dataset):
    def __init__(self, count):
        self.rows = torch.randint(0, VOCABULARY, (count, LENGTH))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


class Leak(TrainerCallback):
    def on_train_begin(self, args, state, control, **given):
        if IS_USED:
            note_base()  # the model is on the card already

    def on_step_end(self, args, state, control, model=None, **given):
        keep_one(next(model.parameters()))
        if os.environ.get("FRAMEWORK_FAILS") and state.global_step == STEPS // 2:
            raise RuntimeError("made to fail")


def main():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2))
    arguments = TrainingArguments("out", max_steps=STEPS, per_device_train_batch_size=4, report_to=[], save_strategy="no",
                                  eval_strategy="steps",
                                  eval_steps=STEPS // 2, logging_strategy="no", use_cpu=DEVICE == "cpu", disable_tqdm=True)
    callback = None
    if IS_USED:
        from stormlog.integrations.huggingface import StormlogCallback

        callback = StormlogCallback(sinks=[note_counters])
    trainer = Trainer(model=model, args=arguments, train_dataset=Rows(STEPS * 4), eval_dataset=Rows(8),
                      callbacks=[Leak(), *([callback] if callback else ())])
    if callback is None:
        trainer.train()
        report(steps=STEPS)
        return trainer
    try:
        with callback:
            trainer.train()
    except RuntimeError as error:
        if "made to fail" not in str(error):
            raise
    report(**facts_of(callback.evidence), failure=callback.session.failure_path and sorted(os.listdir(callback.session.failure_path)))
    return trainer


if __name__ == "__main__":
    kept_to_the_end = main()
