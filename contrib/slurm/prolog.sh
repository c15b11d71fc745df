#!/bin/sh
# TaskProlog of slurm.conf: what it prints as "export NAME=VALUE" becomes the task's environment. Every task of the job records
# into one folder per job, where the node's agent looks.
: "${STORMLOG_RECORDINGS:=/var/lib/stormlog/recordings}"
folder=$STORMLOG_RECORDINGS/$SLURM_JOB_USER/job-$SLURM_JOB_ID
mkdir -p "$folder" && echo "export STORMLOG_DIR=$folder"
