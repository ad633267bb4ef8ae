#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Install or upgrade the NVIDIA driver on Ubuntu and Debian, from the package sources that the system
# has, and load it without a reboot. See --help.
#
# Tests set SYSROOT: everything below /etc, /proc, /sys and /run is then read there.
set -euo pipefail

readonly PROGRAM=${0##*/}
readonly SYSROOT=${SYSROOT:-}
# Exit statuses.
readonly FAILED=1 MISUSED=2 REFUSED=3
# Seconds that processes and services get to end.
readonly PATIENCE=${PATIENCE:-30}
# What holds a GPU open and is stopped and started again. The first ones are started last.
readonly SERVICES=(
    dcgm-exporter nvidia-dcgm dcgm nvitop-exporter nvidia-fabricmanager nvidia-powerd nvidia-persistenced
)
# In the order in which they can be unloaded.
readonly MODULES=(nvidia_peermem gdrdrv nvidia_drm nvidia_modeset nvidia_uvm nvidia)

package='' latest=no flavour='' dry_run=no yes=no end_processes=no stop_display=no reload=yes
stopped=() unloaded=()

usage() {
    cat <<EOF
usage: $PROGRAM [option ...]

Install or upgrade the NVIDIA driver of this computer (Ubuntu or Debian), and load it without a
reboot. Without an option: upgrade the driver that is installed; where there is none, install the
newest one.

which driver:
  --package=NAME    this package, for example nvidia-driver-570 or nvidia-driver-570-server
  --latest          the newest driver there is, also when an older series is installed
  --open            with the open kernel modules (GPUs from Turing on; needed from Blackwell on)
  --proprietary     with the proprietary kernel modules
                    (default: what is installed, else what the GPUs need)

how:
  --dry-run         show what would be done, and do nothing
  --end-processes   end the processes that use a GPU (default: refuse while there are some)
  --stop-display    stop the display manager, and with it all graphical sessions, and start it again
                    (default: refuse while it runs)
  --no-reload       only install; the new driver is loaded at the next boot, nothing is stopped
  -y, --yes         do not ask
  -h, --help        show this help and exit

nvidia-persistenced, the fabric manager and DCGM are stopped while the driver is replaced, and
started again.

exit status: 0 done, or nothing to do; 1 something failed; 2 the options cannot be understood;
3 refused, because GPUs are in use.
EOF
}

say() { printf '%s\n' "$*"; }
fail() {
    local status=$1
    shift
    printf '%s: %s\n' "$PROGRAM" "$*" >&2
    exit "$status"
}

# Run something that changes the system, or only show it.
run() {
    if [ "$dry_run" = yes ]; then
        say "would run: $*"
    else
        say "+ $*"
        "$@"
    fi
}

parse_arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
        --package=?*) package=${1#*=} ;;
        --package)
            [ $# -gt 1 ] || fail $MISUSED '--package needs the name of a package'
            package=$2
            shift
            ;;
        --latest) latest=yes ;;
        --open | --proprietary)
            [ -z "$flavour" ] || [ "$flavour" = "${1#--}" ] ||
                fail $MISUSED '--open and --proprietary exclude each other'
            flavour=${1#--}
            ;;
        --dry-run) dry_run=yes ;;
        --end-processes) end_processes=yes ;;
        --stop-display) stop_display=yes ;;
        --no-reload) reload=no ;;
        -y | --yes) yes=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) fail $MISUSED "no such option: $1 (see $PROGRAM --help)" ;;
        esac
        shift
    done
    if [ -n "$package" ]; then
        [[ $package =~ ^[a-z0-9][a-z0-9+.-]+$ ]] || fail $MISUSED "no name of a package: $package"
        [ -z "$flavour" ] && [ "$latest" = no ] ||
            fail $MISUSED '--package says which driver already: leave out --latest, --open, --proprietary'
    fi
}

# The distribution: ubuntu or debian.
distribution() {
    local id='' like=''
    if [ -r "$SYSROOT/etc/os-release" ]; then
        id=$(sed -n 's/^ID="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$SYSROOT/etc/os-release")
        like=$(sed -n 's/^ID_LIKE="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$SYSROOT/etc/os-release")
    fi
    case " $id $like " in
    *' ubuntu '*) say ubuntu ;;
    *' debian '*) say debian ;;
    *) fail $FAILED "this is ${id:-a system without /etc/os-release}: only Ubuntu and Debian are known" ;;
    esac
}

check_system() {
    local tool
    for tool in apt-get apt-cache dpkg-query lsmod modprobe systemctl; do
        command -v "$tool" >/dev/null ||
            fail $FAILED "the command $tool is missing, so this is no system that could load a driver"
    done
    if grep -qi microsoft "$SYSROOT/proc/version" 2>/dev/null; then
        fail $FAILED 'in WSL the driver of Windows is used: install it there, then run: wsl --update'
    fi
    if [ -e "$SYSROOT/.dockerenv" ] || [ -e "$SYSROOT/run/.containerenv" ]; then
        fail $FAILED 'in a container the driver of the host is used: run this on the host'
    fi
    if [ "$dry_run" = no ] && [ "$(id -u)" != 0 ]; then
        fail $FAILED "root is needed: sudo ./$PROGRAM (or --dry-run to see what would be done)"
    fi
}

# The device ids of all NVIDIA display and 3D controllers, in hexadecimal.
gpu_ids() {
    local device
    for device in "$SYSROOT"/sys/bus/pci/devices/*; do
        [ -r "$device/vendor" ] && [ "$(cat "$device/vendor")" = 0x10de ] || continue
        case $(cat "$device/class") in 0x03*) cat "$device/device" ;; esac
    done
}

# The kernel modules that all GPUs here can run with. Turing begins at 0x1e00.
needed_flavour() {
    local id
    for id in $(gpu_ids); do
        if ((id < 0x1e00)); then
            say proprietary
            return
        fi
    done
    say open
}

installed_version() { dpkg-query --show --showformat='${db:Status-Status} ${Version}' "$1" 2>/dev/null | sed -n 's/^installed //p'; }
candidate_version() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *//p' | grep -v '(none)' || true; }
# 2:570.133.07-0ubuntu1 → 570.133.07
upstream() { sed 's/^[0-9]*://; s/-.*//' <<<"$1"; }
loaded_version() { cat "$SYSROOT/sys/module/nvidia/version" 2>/dev/null || true; }

# The driver package that is installed, if any: nvidia-driver-570, nvidia-driver-570-server-open, …
installed_package() {
    dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' 'nvidia-driver*' 2>/dev/null |
        sed -n -E 's/^installed (nvidia-driver(-[0-9]+(-server)?(-open)?)?)$/\1/p' | sort --version-sort | tail -n 1 || true
}

choose_on_ubuntu() {
    local installed series='[0-9]+' server='' suffix=''
    installed=$(installed_package)
    [[ $installed == *-server* ]] && server=-server
    if [ -z "$flavour" ]; then
        flavour=$(needed_flavour)
        if [[ $installed == *-open ]]; then
            flavour=open
        elif [ -n "$installed" ]; then
            flavour=proprietary
        fi
    fi
    [ "$flavour" = open ] && suffix=-open
    if [ "$latest" = no ] && [[ $installed =~ ^nvidia-driver-([0-9]+) ]]; then
        series=${BASH_REMATCH[1]}
    fi
    apt-cache pkgnames nvidia-driver- |
        grep -E "^nvidia-driver-$series$server$suffix\$" | sort --version-sort | tail -n 1 || true
}

choose_on_debian() {
    [ -n "$(candidate_version nvidia-driver)" ] || return 0
    say nvidia-driver
}

# The packages to install, the driver first, into `packages`.
choose_packages() {
    local system=$1 headers
    if [ -n "$package" ]; then
        [ -n "$(candidate_version "$package")" ] ||
            fail $FAILED "there is no package $package; see: apt-cache search nvidia-driver"
    else
        package=$("choose_on_$system")
    fi
    if [ -z "$package" ]; then
        case $system in
        ubuntu) fail $FAILED "no${flavour:+ $flavour} NVIDIA driver is to be had: allow the component" \
            '"restricted" (sudo add-apt-repository restricted), then run this again' ;;
        debian) fail $FAILED 'no NVIDIA driver is to be had: add "contrib non-free non-free-firmware" to' \
            'the lines in /etc/apt/sources.list, then run this again' ;;
        esac
    fi
    packages=("$package")
    if [ "$system" = debian ] && [ "$package" = nvidia-driver ]; then
        add_debian_modules
    fi
    headers=linux-headers-$(uname -r)
    # The modules are compiled for the running kernel.
    [ -z "$(candidate_version "$headers")" ] || packages+=("$headers")
}

# Which of its two sets of kernel modules the driver of Debian gets.
add_debian_modules() {
    local name=nvidia-kernel-dkms
    if [ -z "$flavour" ]; then
        flavour=$(needed_flavour)
        if [ -n "$(installed_version nvidia-open-kernel-dkms)" ]; then
            flavour=open
        elif [ -n "$(installed_version nvidia-kernel-dkms)" ]; then
            flavour=proprietary
        fi
    fi
    [ "$flavour" = proprietary ] || name=nvidia-open-kernel-dkms
    if [ -n "$(candidate_version "$name")" ]; then
        packages+=("$name")
    elif [ "$flavour" = open ]; then
        fail $FAILED "there is no package $name in this release of Debian: use --proprietary"
    fi
}

# Whether every package is installed in the newest version there is.
is_current() {
    local name
    for name in "${packages[@]}"; do
        [ -n "$(installed_version "$name")" ] || return 1
        [ "$(installed_version "$name")" = "$(candidate_version "$name")" ] || return 1
    done
}

# Not grep -q: it leaves before lsmod has written everything, which then fails.
is_loaded() { lsmod | grep "^$1 " >/dev/null; }
is_running() { systemctl is-active --quiet "$1.service" 2>/dev/null; }
name_of() { cat "$SYSROOT/proc/$1/comm" 2>/dev/null || say '?'; }

# The PIDs that have a GPU open, but for the services that are stopped anyway and display servers.
users_of_gpus() {
    local pid
    # find fails where a process ends while it looks.
    { find "$SYSROOT"/proc -mindepth 3 -maxdepth 3 -path '*/fd/*' -lname '/dev/nvidia*' 2>/dev/null || true; } |
        sed -E 's|.*/proc/([0-9]+)/fd/.*|\1|' | sort -un |
        while read -r pid; do
            case $(name_of "$pid") in
            nvidia-persiste* | nv-hostengine | nv-fabricmanage* | dcgm-exporter | nvidia-powerd | nvitop-exporter) ;;
            Xorg | X | Xwayland | gnome-shell | kwin_* | sddm* | gdm* | lightdm* | plasmashell | mutter*) ;;
            *) say "$pid" ;;
            esac
        done
}

has_display() { is_running display-manager && is_loaded nvidia_drm; }

refuse_while_in_use() {
    local pid pids
    pids=$(users_of_gpus)
    if [ -n "$pids" ] && [ "$end_processes" = no ]; then
        say 'These processes use a GPU:' >&2
        for pid in $pids; do printf '  %7d  %s\n' "$pid" "$(name_of "$pid")" >&2; done
        fail $REFUSED 'nothing was changed. End them, or give --end-processes; or --no-reload to have' \
            'the new driver at the next boot.'
    fi
    if has_display && [ "$stop_display" = no ]; then
        fail $REFUSED 'a display manager runs, and the driver cannot be replaced under it: nothing was' \
            'changed. Give --stop-display from a text console or over SSH (graphical sessions end), or' \
            '--no-reload to have the new driver at the next boot.'
    fi
}

confirm() {
    local answer=''
    [ "$dry_run" = no ] && [ "$yes" = no ] || return 0
    [ -t 0 ] || fail $FAILED 'there is no terminal to ask on: give --yes'
    read -r -p 'Go on? [y/N] ' answer || true
    case $answer in [yY] | [yY][eE][sS]) ;; *) fail $FAILED 'nothing was changed' ;; esac
}

stop_services() {
    local service services=("${SERVICES[@]}")
    [ "$stop_display" = no ] || services=(display-manager "${services[@]}")
    for service in "${services[@]}"; do
        if is_running "$service"; then
            stopped+=("$service")
            run systemctl stop "$service.service"
        fi
    done
}

is_alive() { kill -0 "$1" 2>/dev/null; }

wait_for_end_of() {
    local deadline=$1 pid
    for pid in $2; do
        while is_alive "$pid" && ((SECONDS < deadline)); do sleep 0.1; done
    done
}

end_users_of_gpus() {
    local pid pids deadline=$((SECONDS + PATIENCE))
    pids=$(users_of_gpus)
    [ -n "$pids" ] && [ "$end_processes" = yes ] || return 0
    for pid in $pids; do
        run kill -TERM "$pid" || true
    done
    [ "$dry_run" = no ] || return 0
    wait_for_end_of "$deadline" "$pids"
    for pid in $pids; do
        ! is_alive "$pid" || run kill -KILL "$pid" || true
    done
    wait_for_end_of $((SECONDS + PATIENCE)) "$pids"
}

unload_modules() {
    local module
    for module in "${MODULES[@]}"; do
        is_loaded "$module" || continue
        if ! run modprobe --remove "$module"; then
            fail $FAILED "the module $module is still in use: nothing was installed. Run this again with" \
                '--no-reload, and reboot.'
        fi
        unloaded+=("$module")
    done
}

load_modules() {
    local module
    if ! run modprobe nvidia; then
        say "$PROGRAM: the driver is installed and cannot be loaded. With Secure Boot its key must be" \
            'enrolled first (mokutil --sb-state); otherwise a reboot may help. See: dmesg | grep -i nvrm' >&2
        return 1
    fi
    # From the last one unloaded, which the others need.
    for ((module = ${#unloaded[@]} - 1; module >= 0; module--)); do
        [ "${unloaded[module]}" = nvidia ] || run modprobe "${unloaded[module]}" || true
    done
    unloaded=()
}

start_services() {
    local index
    for ((index = ${#stopped[@]} - 1; index >= 0; index--)); do
        run systemctl start "${stopped[index]}.service" ||
            say "$PROGRAM: ${stopped[index]} does not start: systemctl status ${stopped[index]}" >&2
    done
    stopped=()
}

# However this ends, what was stopped is started again.
# shellcheck disable=SC2317  # called by the trap
clean_up() {
    local status=$?
    trap - EXIT
    [ ${#unloaded[@]} = 0 ] || load_modules || true
    [ ${#stopped[@]} = 0 ] || start_services
    exit "$status"
}

install_packages() { run env DEBIAN_FRONTEND=noninteractive apt-get install --yes "$@" "${packages[@]}"; }

replace_driver() {
    # What takes long is done while everything still runs.
    install_packages --download-only || fail $FAILED 'the packages cannot be fetched: nothing was changed'
    if [ "$reload" = yes ]; then
        stop_services
        end_users_of_gpus
        unload_modules
    fi
    install_packages || fail $FAILED 'the packages cannot be installed: see what apt-get says above'
    if [ "$reload" = yes ]; then
        load_modules || exit $FAILED
        start_services
    fi
}

report() {
    local version
    [ "$dry_run" = no ] || return 0
    if [ "$reload" = no ]; then
        say 'The driver is installed; it is loaded at the next boot.'
        return
    fi
    version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -n 1p) ||
        fail $FAILED 'the driver is loaded and does not answer: see nvidia-smi and dmesg | grep -i nvrm'
    say "The driver answers: version $version."
}

main() {
    local system packages=() version
    parse_arguments "$@"
    system=$(distribution)
    check_system
    run apt-get update || fail $FAILED 'the package lists cannot be fetched: see what apt-get says above'
    choose_packages "$system"
    if [ "$reload" = yes ] && is_loaded nouveau; then
        say 'nouveau drives the GPUs now: the new driver is loaded at the next boot.'
        reload=no
    fi
    version=$(candidate_version "$package")
    if is_current && { [ "$reload" = no ] || [ "$(loaded_version)" = "$(upstream "$version")" ]; }; then
        say "Nothing to do: $package $version is installed$([ "$reload" = no ] || say ' and loaded')."
        return
    fi
    say "To be installed: ${packages[*]} (version $version; now loaded: $(loaded_version | grep . || say none))."
    [ "$reload" = no ] || refuse_while_in_use
    confirm
    trap clean_up EXIT
    replace_driver
    report
}

main "$@"
