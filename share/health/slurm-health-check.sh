#!/bin/sh
# Drain this Slurm node while a GPU is not usable. In slurm.conf:
#
#     HealthCheckProgram=/opt/nvitop/share/nvitop/health/slurm-health-check.sh
#     HealthCheckInterval=300
#
# Only a critical finding drains. If nvitop is missing or broken, or the driver is not loaded or too busy
# to answer, nothing is known about the GPUs: this script prints why, exits with status 1, and changes
# nothing. Arguments are passed on: with --expect=8, a driver that is not loaded is a critical finding.
#
# Nodes without a gpu in their Gres, and nodes that are down or drained for another reason, are left
# alone. With NVITOP_RESUME=yes, a node that this script drained is resumed once its GPUs are usable
# again. It does not if someone has edited the reason: a number at its end is a sum of the text. Slurm
# passes neither arguments nor an environment, so set them in a script of your own:
#
#     #!/bin/sh
#     NVITOP_RESUME=yes exec /opt/nvitop/share/nvitop/health/slurm-health-check.sh --expect=8
set -u
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

reason_for() {
    printf 'nvitop: %s (automatic %s)' "$1" "$(printf '%s' "$1" | cksum | cut -d ' ' -f 1)"
}

node=${SLURMD_NODENAME:-$(hostname -s)}
shown=$(nvitop health --format=nagios --fail-on=critical --timeout=20 "$@")
case $?:$shown in
    0:*) problem= ;;
    # A shell or Python that fails may exit with status 2, too.
    '2:GPU CRITICAL - '*)
        problem=${shown#*GPU CRITICAL - }
        problem=$(reason_for "$(printf '%.80s' "${problem%% | *}")")
        ;;
    *)
        printf 'nvitop: nothing is known about the GPUs: %s\n' "$shown" >&2
        exit 1
        ;;
esac

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
text=${reason#nvitop: }
written=$(reason_for "${text%% (automatic *}")
case ${state%% *}:$reason in
    *DRAIN*:"$written ["*) drained=nvitop ;;
    *DRAIN*:* | *DOWN*:* | *FAIL*:*) drained=other ;;
    *) drained= ;;
esac

if [ -n "$problem" ]; then
    case $drained:$reason in
        other:* | "nvitop:$problem ["*) ;;
        *) scontrol update nodename="$node" state=drain reason="$problem" ;;
    esac
    exit 1
fi
if [ "$drained" = nvitop ] && [ "${NVITOP_RESUME:-no}" = yes ]; then
    scontrol update nodename="$node" state=resume
fi
exit 0
