# SPDX-License-Identifier: MIT
"""tools/size_report.py counts what a person would count."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import size_report  # noqa: E402
import tap  # noqa: E402

SOURCE = """\
/* A comment
 * of two lines. */
#include <stdio.h>

struct point {
    int x; /* code and comment */
};

static const int table[] = {
    1,
};

static int twice(int x) {
    return 2 * x;
}

int with_a_long_signature(int first,
                          int second) {
    if (first) {
        return second; // why
    }
    return twice(second);
}
"""


@tap.test("functions are found with their lengths, data is not")
def _():
    tap.equal(list(size_report.find_functions(SOURCE.splitlines())), [("twice", 3), ("with_a_long_signature", 7)], "functions")


SCRIPT = """\
export function one(a: number): number {
  if (a > 1) {
    return a;
  }
  return 1;
}

class View {
  private of(
    first: string,
    second: string,
  ): { a: number } | null {
    return first.map((x) => {
      call(x);
    });
  }
}

const table: Record<string, number> = {
  a: 1,
};
test("a title", async () => {
  await done();
});
"""


@tap.test("functions, methods and callbacks of TypeScript are found; statements, classes and data are not")
def _():
    tap.equal(list(size_report.script_functions(SCRIPT.splitlines())),
              [("one", 1, 6), ("of", 9, 8), ("map", 13, 3), ("test", 22, 3)], "functions")


@tap.test("comment lines and code lines are counted")
def _():
    tap.equal(size_report.count_comments(SOURCE.splitlines()), (4, 17), "(comments, code)")


@tap.test("percentiles are right for no value, one and many")
def _():
    tap.equal([size_report.percentile([], 0.5), size_report.percentile([7], 0.9),
               size_report.percentile(list(range(1, 11)), 0.9)], [0, 7, 10], "percentiles")


tap.main()
