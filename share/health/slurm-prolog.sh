#!/bin/sh
# Check the GPUs of a job before it starts. In slurm.conf:
#
#     Prolog=/opt/nvitop/share/nvitop/health/slurm-prolog.sh
#
# If one of them is not usable, the prolog fails: Slurm drains the node and requeues the job. If
# nothing is known about them, because nvitop is missing or broken, the job starts.
set -u
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
shown=$(nvitop health --format=nagios -o "$SLURM_JOB_GPUS" --fail-on=critical)
case $?:$shown in
    0:*) ;;
    '2:GPU CRITICAL - '*)
        printf '%s\n' "${shown%% | *}" >&2
        exit 1
        ;;
    *) printf 'nvitop: nothing is known about the GPUs: %s\n' "$shown" >&2 ;;
esac
