# SPDX-License-Identifier: MIT
"""Runs the blocks of one chain in this process, one after the other in the same namespace. Argument: a file with a JSON list of
blocks; the result of each is a line of JSON in the file next to it, with .done added to its name."""

import json
import sys
import traceback

names = {"__name__": "__main__"}


def execute(code, filename, line=1):
    exec(compile("\n" * (line - 1) + code, filename, "exec", dont_inherit=True), names)


def run(block):
    execute(block["before"], "before")
    try:
        # As a file of its own, so that its lines are a user's lines, with the numbers of the text.
        execute(block["code"], block["file"], block["line"])
    except Exception as error:
        if type(error).__name__ != block["error"]:
            raise
    else:
        assert not block["error"], f"{block['error']} was expected"
    execute(block["after"], "after")


for block in json.load(open(sys.argv[1], encoding="utf-8")):
    try:
        run(block)
        found = ""
    except BaseException:
        found = traceback.format_exc()
    with open(sys.argv[1] + ".done", "a", encoding="utf-8") as results:
        results.write(json.dumps({"id": block["id"], "problem": found}) + "\n")
