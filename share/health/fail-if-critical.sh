#!/bin/sh
# Exit with status 1 if a GPU is not usable, for checks that take a node out of service. If nothing is
# known about the GPUs, because nvitop is missing or broken or the driver is too busy, print why and
# succeed. Arguments are passed on: -o 0,1 checks only these GPUs; with --expect=8, a driver that is not
# loaded fails.
set -u
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

shown=$(nvitop health --format=nagios --fail-on=critical "$@")
case $?:$shown in
    0:*) ;;
    # A shell or Python that fails may exit with status 2, too.
    '2:GPU CRITICAL - '*)
        printf '%s\n' "${shown%% | *}" >&2
        exit 1
        ;;
    *) printf 'nvitop: nothing is known about the GPUs: %s\n' "$shown" >&2 ;;
esac
