#!/bin/sh
# Drain this Slurm node while a GPU is not usable. In slurm.conf:
#
#     HealthCheckProgram=/usr/share/nvitop/health/slurm-health-check.sh
#     HealthCheckInterval=300
#
# Nodes without a gpu in their Gres, and nodes that are down or drained for another reason, are left
# alone. With NVITOP_RESUME=yes, a node that this script drained is resumed once its GPUs are usable
# again. Slurm passes no environment, so set it in a script of your own:
#
#     #!/bin/sh
#     NVITOP_RESUME=yes exec /usr/share/nvitop/health/slurm-health-check.sh
set -u
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

node=${SLURMD_NODENAME:-$(hostname -s)}
if found=$(nvitop health --format=npd --fail-on=critical --timeout=20 2>/dev/null); then
    problem=
else
    problem=${found:-nvitop health cannot be run}
fi

shown=$(scontrol --oneliner show node "$node") || exit 1
gres=${shown#* Gres=}
case ",${gres%% *}" in
    *,gpu*) ;;
    *) exit 0 ;;
esac
state=${shown#* State=}
reason=
case $shown in
    *' Reason='*) reason=${shown#* Reason=} ;;
esac
case ${state%% *}:$reason in
    *DRAIN*:nvitop:*) drained=nvitop ;;
    *DRAIN*:* | *DOWN*:* | *FAIL*:*) drained=other ;;
    *) drained= ;;
esac

if [ -n "$problem" ]; then
    case $drained:$reason in
        other:* | "nvitop:nvitop: $problem ["*) ;;
        *) scontrol update nodename="$node" state=drain reason="nvitop: $problem" ;;
    esac
    exit 1
fi
if [ "$drained" = nvitop ] && [ "${NVITOP_RESUME:-no}" = yes ]; then
    scontrol update nodename="$node" state=resume
fi
exit 0
