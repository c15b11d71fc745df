# SPDX-License-Identifier: MIT
"""The rank of this process in a distributed job. The recording side uses it, so it must not load the reading module."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional

# Launchers: rank, local rank, world size. The first whose rank and size are set is used.
_RANK_VARIABLES = (
    ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
)
_JOB_VARIABLES = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID")


def _env_integer(env: Mapping[str, str], name: str) -> int:
    text = env[name].strip()
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} must be an integer, found {text!r}") from None


def _env_ranks(env: Mapping[str, str]) -> Dict[str, int]:
    for rank_name, local_name, size_name in _RANK_VARIABLES:
        if env.get(rank_name, "").strip() and env.get(size_name, "").strip():
            rank = _env_integer(env, rank_name)
            local = _env_integer(env, local_name) if env.get(local_name, "").strip() else rank
            return {"rank": rank, "local_rank": local, "world_size": _env_integer(env, size_name)}
    return {}


def _env_job(env: Mapping[str, str]) -> Optional[str]:
    return next((env[name].strip() for name in _JOB_VARIABLES if env.get(name, "").strip()), None)


def _check_integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be an integer, found {value!r}")
    if value < least:
        raise ValueError(f"{name} must be >= {least}, found {value}")
    return value


def resolve_distributed_identity(*, job_id: Optional[str] = None, rank: Optional[int] = None,
                                 local_rank: Optional[int] = None, world_size: Optional[int] = None,
                                 metadata: Optional[Mapping[str, Any]] = None,
                                 env: Optional[Mapping[str, str]] = None) -> Dict[str, Any]:
    """``{job_id, rank, local_rank, world_size}`` of this process: for each the argument, else the metadata, else the
    launcher's environment (torchrun, Open MPI, Slurm), else none/0/the rank/1. Raises ValueError when they contradict
    each other."""
    metadata = metadata or {}
    env = os.environ if env is None else env
    given = {"rank": rank, "local_rank": local_rank, "world_size": world_size}
    known = {name: metadata.get(name) if value is None else value for name, value in given.items()}
    # If all values are given, the launcher's variables are not parsed.
    launched = _env_ranks(env) if any(value is None for value in known.values()) else {}
    known = {name: launched.get(name) if value is None else value for name, value in known.items()}

    result_rank = _check_integer("rank", 0 if known["rank"] is None else known["rank"], 0)
    result_size = _check_integer("world_size", 1 if known["world_size"] is None else known["world_size"], 1)
    result_local = _check_integer("local_rank",
                                  result_rank if known["local_rank"] is None else known["local_rank"], 0)
    if result_rank >= result_size:
        raise ValueError(f"rank must be < world_size, found {result_rank} of {result_size}")
    if result_local >= result_size:
        raise ValueError(f"local_rank must be < world_size, found {result_local} of {result_size}")
    job = job_id if job_id is not None else metadata.get("job_id")
    job = _env_job(env) if job is None else job
    if job is not None and (not isinstance(job, str) or not job.strip()):
        raise ValueError(f"job_id must be a non-empty string, found {job!r}")
    return {"job_id": job, "rank": result_rank, "local_rank": result_local, "world_size": result_size}
