#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stops DCGM, the fabric manager, nvidia-persistenced and exporters, unloads the nvidia kernel modules,
# and installs or upgrades the NVIDIA driver on Ubuntu and Debian, without a reboot. See --help.
#
# Tests set SYSROOT to read /etc, /proc, /sys and /run from another folder.
set -euo pipefail

readonly PROGRAM=${0##*/}
readonly SYSROOT=${SYSROOT:-}
# Exit statuses.
readonly FAILED=1 MISUSED=2 REFUSED=3
# Seconds to wait for a process to exit after SIGTERM, and again after SIGKILL.
readonly PATIENCE=${PATIENCE:-30}
# Services that keep a GPU open: stopped in this order, started in reverse.
readonly SERVICES=(
    dcgm-exporter nvidia-dcgm dcgm nvitop-exporter nvidia-fabricmanager nvidia-powerd nvidia-persistenced
)
# In the order of unloading.
readonly MODULES=(nvidia_peermem gdrdrv nvidia_drm nvidia_modeset nvidia_uvm nvidia)

package='' latest=no flavor='' dry_run=no yes=no end_processes=no stop_display=no reload=yes
stopped=() unloaded=()

usage() {
    cat <<EOF
usage: $PROGRAM [option ...]

Install or upgrade the NVIDIA driver of this computer (Ubuntu or Debian), and load it without a
reboot. Without options, upgrade the installed driver, or install the newest one.

driver selection:
  --package=NAME    install this package, e.g. nvidia-driver-570 or nvidia-driver-570-server
  --latest          install the newest series, even if an older one is installed
  --open            use the open kernel modules (Turing and newer; required since Blackwell)
  --proprietary     use the proprietary kernel modules
                    (default: the installed kind, otherwise the kind that the GPUs require)

procedure:
  --dry-run         show the commands without running them
  --end-processes   end processes that use a GPU (default: refuse)
  --stop-display    stop the display manager and all graphical sessions, and start it again
                    afterwards (default: refuse)
  --no-reload       only install; the new driver is loaded at the next boot, nothing is stopped
  -y, --yes         do not ask for confirmation
  -h, --help        show this help and exit

nvidia-persistenced, the fabric manager and DCGM are stopped while the driver is replaced, and
started again afterwards.

exit status: 0 success, or nothing to do; 1 failure; 2 invalid options; 3 refused because GPUs are
in use.
EOF
}

say() { printf '%s\n' "$*"; }
fail() {
    local status=$1
    shift
    printf '%s: %s\n' "$PROGRAM" "$*" >&2
    exit "$status"
}

# Run a command that changes the system, or only print it with --dry-run.
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
            [ $# -gt 1 ] || fail $MISUSED '--package requires a package name'
            package=$2
            shift
            ;;
        --latest) latest=yes ;;
        --open | --proprietary)
            [ -z "$flavor" ] || [ "$flavor" = "${1#--}" ] ||
                fail $MISUSED '--open and --proprietary are mutually exclusive'
            flavor=${1#--}
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
        *) fail $MISUSED "unknown option: $1 (see $PROGRAM --help)" ;;
        esac
        shift
    done
    if [ -n "$package" ]; then
        [[ $package =~ ^[a-z0-9][a-z0-9+.-]+$ ]] || fail $MISUSED "invalid package name: $package"
        [ -z "$flavor" ] && [ "$latest" = no ] ||
            fail $MISUSED '--package cannot be combined with --latest, --open or --proprietary'
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
    *) fail $FAILED "unsupported system: ${id:-no /etc/os-release}; only Ubuntu and Debian are supported" ;;
    esac
}

check_system() {
    local tool
    for tool in apt-get apt-cache dpkg-query lsmod modprobe systemctl; do
        command -v "$tool" >/dev/null ||
            fail $FAILED "the command $tool is missing; it is required to install and load a driver"
    done
    if grep -qi microsoft "$SYSROOT/proc/version" 2>/dev/null; then
        fail $FAILED 'WSL uses the Windows driver: install it in Windows, then run: wsl --update'
    fi
    if [ -e "$SYSROOT/.dockerenv" ] || [ -e "$SYSROOT/run/.containerenv" ]; then
        fail $FAILED 'containers use the driver of the host: run this script on the host'
    fi
    if [ "$dry_run" = no ] && [ "$(id -u)" != 0 ]; then
        fail $FAILED "root is required: sudo ./$PROGRAM (--dry-run works without root)"
    fi
}

# Hexadecimal PCI device ids of all NVIDIA display and 3D controllers.
gpu_ids() {
    local device
    for device in "$SYSROOT"/sys/bus/pci/devices/*; do
        [ -r "$device/vendor" ] && [ "$(cat "$device/vendor")" = 0x10de ] || continue
        case $(cat "$device/class") in 0x03*) cat "$device/device" ;; esac
    done
}

# The kind of kernel modules that supports all GPUs. Turing starts at 0x1e00.
needed_flavor() {
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

# The installed driver package, if any: nvidia-driver-570, nvidia-driver-570-server-open, …
installed_package() {
    dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' 'nvidia-driver*' 2>/dev/null |
        sed -n -E 's/^installed (nvidia-driver(-[0-9]+(-server)?(-open)?)?)$/\1/p' | sort --version-sort | tail -n 1 || true
}

choose_on_ubuntu() {
    local installed series='[0-9]+' server='' suffix=''
    installed=$(installed_package)
    [[ $installed == *-server* ]] && server=-server
    if [ -z "$flavor" ]; then
        flavor=$(needed_flavor)
        if [[ $installed == *-open ]]; then
            flavor=open
        elif [ -n "$installed" ]; then
            flavor=proprietary
        fi
    fi
    [ "$flavor" = open ] && suffix=-open
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

# Set `packages` to the packages to install, the driver first.
choose_packages() {
    local system=$1 headers
    if [ -n "$package" ]; then
        [ -n "$(candidate_version "$package")" ] ||
            fail $FAILED "unknown package $package; see: apt-cache search nvidia-driver"
    else
        package=$("choose_on_$system")
    fi
    if [ -z "$package" ]; then
        case $system in
        ubuntu) fail $FAILED "no${flavor:+ $flavor} NVIDIA driver available: enable the component" \
            '"restricted" (sudo add-apt-repository restricted) and run this script again' ;;
        debian) fail $FAILED 'no NVIDIA driver available: add "contrib non-free non-free-firmware" to' \
            'the lines in /etc/apt/sources.list and run this script again' ;;
        esac
    fi
    packages=("$package")
    if [ "$system" = debian ] && [ "$package" = nvidia-driver ]; then
        add_debian_modules
    fi
    headers=linux-headers-$(uname -r)
    # DKMS compiles the modules for the running kernel.
    [ -z "$(candidate_version "$headers")" ] || packages+=("$headers")
}

# Add the open or the proprietary kernel modules, which Debian packages separately.
add_debian_modules() {
    local name=nvidia-kernel-dkms
    if [ -z "$flavor" ]; then
        flavor=$(needed_flavor)
        if [ -n "$(installed_version nvidia-open-kernel-dkms)" ]; then
            flavor=open
        elif [ -n "$(installed_version nvidia-kernel-dkms)" ]; then
            flavor=proprietary
        fi
    fi
    [ "$flavor" = proprietary ] || name=nvidia-open-kernel-dkms
    if [ -n "$(candidate_version "$name")" ]; then
        packages+=("$name")
    elif [ "$flavor" = open ]; then
        fail $FAILED "this Debian release has no package $name: use --proprietary"
    fi
}

# Succeed if the newest available version of every package is installed.
is_current() {
    local name
    for name in "${packages[@]}"; do
        [ -n "$(installed_version "$name")" ] || return 1
        [ "$(installed_version "$name")" = "$(candidate_version "$name")" ] || return 1
    done
}

# Not grep -q: it exits early, and lsmod would fail with SIGPIPE.
is_loaded() { lsmod | grep "^$1 " >/dev/null; }
is_running() { systemctl is-active --quiet "$1.service" 2>/dev/null; }
name_of() { cat "$SYSROOT/proc/$1/comm" 2>/dev/null || say '?'; }

# PIDs that have a GPU open, except display servers and the services that are stopped anyway.
users_of_gpus() {
    local pid
    # find fails if a process exits during the search.
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
        fail $REFUSED 'nothing was changed. End these processes, use --end-processes, or use --no-reload' \
            'to load the new driver at the next boot'
    fi
    if has_display && [ "$stop_display" = no ]; then
        fail $REFUSED 'nothing was changed because a display manager uses the driver. Use --stop-display' \
            'from a text console or over SSH (graphical sessions will end), or --no-reload to load the' \
            'new driver at the next boot'
    fi
}

confirm() {
    local answer=''
    [ "$dry_run" = no ] && [ "$yes" = no ] || return 0
    [ -t 0 ] || fail $FAILED 'standard input is not a terminal: use --yes'
    read -r -p 'Continue? [y/N] ' answer || true
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
            fail $FAILED "the module $module is still in use; nothing was installed. Run this script again" \
                'with --no-reload and reboot'
        fi
        unloaded+=("$module")
    done
}

load_modules() {
    local module
    if ! run modprobe nvidia; then
        say "$PROGRAM: the driver is installed but cannot be loaded. With Secure Boot, enroll its key first" \
            '(mokutil --sb-state); otherwise a reboot may help. See: dmesg | grep -i nvrm' >&2
        return 1
    fi
    # In reverse order of unloading: the others depend on the last one.
    for ((module = ${#unloaded[@]} - 1; module >= 0; module--)); do
        [ "${unloaded[module]}" = nvidia ] || run modprobe "${unloaded[module]}" || true
    done
    unloaded=()
}

start_services() {
    local index
    for ((index = ${#stopped[@]} - 1; index >= 0; index--)); do
        run systemctl start "${stopped[index]}.service" ||
            say "$PROGRAM: ${stopped[index]} failed to start; see: systemctl status ${stopped[index]}" >&2
    done
    stopped=()
}

# Load the modules and start the services again on every exit.
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
    # Download while everything still runs, because it can take long.
    install_packages --download-only || fail $FAILED 'cannot download the packages; nothing was changed'
    if [ "$reload" = yes ]; then
        stop_services
        end_users_of_gpus
        unload_modules
    fi
    install_packages || fail $FAILED 'cannot install the packages; see the messages of apt-get above'
    if [ "$reload" = yes ]; then
        load_modules || exit $FAILED
        start_services
    fi
}

report() {
    local version
    [ "$dry_run" = no ] || return 0
    if [ "$reload" = no ]; then
        say 'The driver is installed and will be loaded at the next boot.'
        return
    fi
    version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -n 1p) ||
        fail $FAILED 'the driver is loaded but does not respond; see nvidia-smi and dmesg | grep -i nvrm'
    say "The driver responds: version $version."
}

main() {
    local system packages=() version
    parse_arguments "$@"
    system=$(distribution)
    check_system
    run apt-get update || fail $FAILED 'cannot download the package lists; see the messages of apt-get above'
    choose_packages "$system"
    if [ "$reload" = yes ] && is_loaded nouveau; then
        say 'The GPUs use nouveau: the new driver will be loaded at the next boot.'
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
