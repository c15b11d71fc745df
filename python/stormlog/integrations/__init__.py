# SPDX-License-Identifier: MIT
"""Frameworks: one module each, imported only when it is asked for, because each imports its framework.

    stormlog.integrations.lightning.StormlogCallback          Lightning's Trainer
    stormlog.integrations.huggingface.StormlogCallback        the Trainer of transformers, and trl's
    stormlog.integrations.accelerate.StormlogTracker          Accelerator(log_with=…)
    stormlog.integrations.tensorboard / wandb / mlflow        sink(…): curves, ledger and page at the end
    stormlog.integrations.torch_profiler                      steps and verdict in torch's profiler traces
    stormlog.integrations.pytest_plugin                       @pytest.mark.stormlog(…), found by pytest itself
    stormlog.integrations.jupyter                             %load_ext stormlog, %%memory
"""
