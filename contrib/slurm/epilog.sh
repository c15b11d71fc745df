#!/bin/sh
# Epilog of slurm.conf, as root on every node at the end of a job: what the agent has not pushed yet is pushed now, at most for a
# minute; the job's end must not wait for a sink that is gone. The cursors are kept, so nothing is sent twice. Slurm gives it no PATH
# and no variables but its own: set them here.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
: "${STORMLOG_RECORDINGS:=/var/lib/stormlog/recordings}"
: "${STORMLOG_PUSH:=http://127.0.0.1:8428}"
# The state folder of the node's agent, here that of systemd/stormlog-agent.service; with another one everything is sent twice.
: "${STORMLOG_STATE:=/var/lib/stormlog-agent}"
folder=$STORMLOG_RECORDINGS/$SLURM_JOB_USER/job-$SLURM_JOB_ID
[ -d "$folder" ] || exit 0
# With an agent on the node its state folder is locked, and the agent itself sends the rest.
said=$(stormlog agent --once --timeout 60s --listen none --push "$STORMLOG_PUSH" --state "$STORMLOG_STATE" "$folder" 2>&1) && exit 0
case $said in
*"another agent"*) ;;
*) logger -t stormlog "job $SLURM_JOB_ID: $said" ;;
esac
exit 0
