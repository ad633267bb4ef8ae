#!/bin/sh
# Drain this Slurm node while a GPU is not usable. In slurm.conf:
#
#     HealthCheckProgram=/usr/share/nvitop/health/slurm-health-check.sh
#     HealthCheckInterval=300
#
# A node that is drained for another reason is left alone. With NVITOP_RESUME=yes, a node that this
# script drained is resumed once its GPUs are usable again.
set -u

node=${SLURMD_NODENAME:-$(hostname -s)}
found=$(nvitop health --format=npd --fail-on=critical --timeout=20 2>/dev/null)
case $? in
    0) problem= ;;
    1 | 2) problem=${found:-unknown} ;;
    *) problem='nvitop health cannot be run' ;;
esac

state=$(scontrol --oneliner show node "$node") || exit 1
case $state in
    *State=*DRAIN*Reason=nvitop:*) drained=nvitop ;;
    *State=*DRAIN*) drained=other ;;
    *) drained= ;;
esac

if [ -n "$problem" ]; then
    [ "$drained" = other ] || scontrol update nodename="$node" state=drain reason="nvitop: $problem"
    exit 1
fi
if [ "$drained" = nvitop ] && [ "${NVITOP_RESUME:-no}" = yes ]; then
    scontrol update nodename="$node" state=resume
fi
exit 0
