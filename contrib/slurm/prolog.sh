#!/bin/sh
# TaskProlog of slurm.conf: what it prints as "export NAME=VALUE" becomes the task's environment. `stormlog run` and
# stormlog.record() make their run folders in one folder per job, where the node's agent looks.
: "${STORMLOG_RECORDINGS:=/var/lib/stormlog/recordings}"
# $STORMLOG_RECORDINGS has to be there, like /tmp: install -d -m 1777.
folder=$STORMLOG_RECORDINGS/$SLURM_JOB_USER/job-$SLURM_JOB_ID
mkdir -p "$folder" && echo "export STORMLOG_RUNS=$folder"
