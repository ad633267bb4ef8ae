#!/bin/sh
# Check the GPUs of a job before it starts. In slurm.conf:
#
#     Prolog=/usr/share/nvitop/health/slurm-prolog.sh
#
# If one of them is not usable, the prolog fails: Slurm drains the node and requeues the job.
set -u
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
nvitop health -o "$SLURM_JOB_GPUS" --fail-on=critical >&2 || exit 1
