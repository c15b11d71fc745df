# SPDX-License-Identifier: MIT
"""The tables in the engines they are for: DuckDB, ClickHouse (chdb) and Spark read both formats as they are and answer the queries of
docs/tables.md. Run by `make check-engines` in an environment that has the engines."""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import queries
import tap

STORMLOG, MAKE_RANK = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]


def tables(folder, ending):
    """The table of the run 'after', and that of both runs."""
    runs = queries.make_runs(MAKE_RANK, Path(folder) / ending)
    names = []
    for name, paths in (("after", runs[1:]), ("both", runs)):
        names.append(f"{folder}/{name}.{ending}")
        subprocess.run([STORMLOG, "export", *paths, "--to", ending, "-o", names[-1]], check=True, timeout=120)
    return names


def ask_all(folder, ending, ask):
    after, both = tables(folder, ending)
    for text, answer, takes_both in zip(queries.sql(), queries.ANSWERS, queries.BOTH):
        tap.equal(queries.normal(ask(both if takes_both else after, text)), answer, f"{ending}: {text}")
    for program, suffix in (("gzip", ".gz"), ("zstd", ".zst")):
        if shutil.which(program):
            subprocess.run([program, "-q", "-k", after], check=True, timeout=60)
            tap.equal(queries.normal(ask(after + suffix, queries.sql()[0])), queries.ANSWERS[0], f"{ending}{suffix}")


def needs(module):
    if importlib.util.find_spec(module) is None:
        tap.skip(f"{module} is not installed here")


def ask_duckdb(path, text):
    import duckdb

    base = duckdb.connect()
    base.execute(f"CREATE VIEW steps AS SELECT * FROM '{path}'")
    return base.execute(text).fetchall()


def ask_clickhouse(path, text):
    from chdb import session

    base = session.Session()
    form = "CSVWithNames" if ".csv" in path else "JSONEachRow"
    base.query(f"CREATE VIEW steps AS SELECT * FROM file('{path}', {form})")
    lines = str(base.query(text, "JSONCompactEachRow")).splitlines()
    base.close()
    # Numbers of 64 bits are texts in its JSON.
    return [tuple(int(cell) if isinstance(cell, str) and cell.lstrip("-").isdigit() else cell for cell in json.loads(line))
            for line in lines]


@functools.lru_cache(maxsize=None)
def spark():
    """One for all questions: a Java machine takes seconds to start."""
    if not shutil.which("java"):
        tap.skip("Spark needs Java (package openjdk-17-jre-headless)")
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]")
    for key, value in (("spark.ui.enabled", "false"), ("spark.sql.shuffle.partitions", "2"), ("spark.driver.host", "127.0.0.1"),
                       ("spark.driver.bindAddress", "127.0.0.1"), ("spark.log.level", "ERROR"), ("spark.ui.showConsoleProgress", "false")):
        session = session.config(key, value)
    return session.getOrCreate()


def ask_spark(path, text):
    """As docs/tables.md loads it."""
    read = spark().read
    table = read.csv(path, header=True, inferSchema=True, escape='"') if ".csv" in path else read.json(path)
    table.createOrReplaceTempView("steps")
    return [tuple(row) for row in spark().sql(text).collect()]


for engine, module, asks in (("DuckDB", "duckdb", ask_duckdb), ("ClickHouse", "chdb", ask_clickhouse), ("Spark", "pyspark", ask_spark)):
    for ending in ("csv", "jsonl"):

        @tap.test(f"{engine} reads {ending} as it is and gives the known answers")
        def _(folder, module=module, asks=asks, ending=ending):
            needs(module)
            ask_all(folder, ending, asks)


tap.main()
