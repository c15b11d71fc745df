# SPDX-License-Identifier: MIT
"""A notebook, run in a kernel of its own by nbclient, as `jupyter execute` does; with %%memory through the integration."""

import json
import sys

import nbformat
from nbclient import NotebookClient

TRAIN = """
import torch
torch.set_num_threads(1)
kept = []
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(24):
    optimizer.zero_grad()
    net(torch.ones(64, 64)).sum().backward()
    optimizer.step()
    kept.append(torch.ones(256, 1024))
"""


def main():
    is_used = sys.argv[1:] == ["use"]
    used = ["%load_ext stormlog", "%%memory -o seen" + TRAIN, "%%memory --page\nbig = torch.ones(1024, 1024)",
            "print([seen.verdict, seen.report['findings'][0]['bytes_per_step'], seen.report['findings'][0]['site']['line']])"]
    cells = used if is_used else [TRAIN]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [output.get("data", {}).get("text/html", "") or output.get("text", "") for cell in notebook.cells for output in cell.outputs]
    print("FACTS " + json.dumps({"cells": len(cells), "table": any("MiB" in text and "<table>" in text for text in shown),
                                 "page": any(text.startswith("<iframe srcdoc=") for text in shown), "seen": (shown or [""])[-1].strip()}),
          flush=True)


if __name__ == "__main__":
    main()
