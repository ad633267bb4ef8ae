#!/bin/sh
# Check the GPUs of a job before it starts. In slurm.conf:
#
#     Prolog=/opt/nvitop/share/nvitop/health/slurm-prolog.sh
#
# If one of them is not usable, the prolog fails: Slurm drains the node and requeues the job. If
# nothing is known about them, because nvitop is missing or broken or the driver is not loaded, the job
# starts. Add --expect=1 to the last line to let it fail without a driver.
set -u

[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
exec "${0%/*}/fail-if-critical.sh" -o "$SLURM_JOB_GPUS"
