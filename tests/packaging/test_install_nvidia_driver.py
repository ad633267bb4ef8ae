"""``install-nvidia-driver.sh`` on a simulated Ubuntu: stubs replace every command that changes something."""

from __future__ import annotations

import pathlib
import shutil
import sys
from subprocess import PIPE, STDOUT, run

import pytest

from tests.waiting import PATIENCE

SCRIPT = pathlib.Path(__file__).parent.parent.parent / 'install-nvidia-driver.sh'
HEADERS = 'linux-headers-6.8.0-60-generic'
pytestmark = pytest.mark.skipif(
    sys.platform == 'win32' or shutil.which('bash') is None, reason='NOT TESTED: no bash'
)
REAL = 'bash cat cp env find grep ls mkdir rm sed sh sleep sort tail touch'
#: Command → its stub. ``$STATE`` holds the state of the system, ``$SYSROOT`` its files.
STUBS = {
    'id': 'echo "${USER_ID:-0}"',
    'uname': 'echo 6.8.0-60-generic',
    'nvidia-smi': 'cat "$SYSROOT/sys/module/nvidia/version"',
    'apt-get': """echo "apt-get $*" >>"$STATE/calls"; [ ! -e "$STATE/fails/apt-get-$1" ] || exit 100
        case "$*" in install*--download-only*|update*) exit 0 ;; esac
        [ ! -e "$STATE/fails/apt-install" ] || exit 100
        for name; do [ ! -e "$STATE/candidates/$name" ] || cp "$STATE/candidates/$name" "$STATE/installed"; done""",
    'apt-cache': """case $1 in
        pkgnames) cd "$STATE/candidates" && ls | grep "^$2" ;;
        policy) [ ! -e "$STATE/candidates/$2" ] || printf '%s:\\n  Candidate: %s\\n' "$2" 570.133.07-0ubuntu1 ;;
        esac""",
    'dpkg-query': """found=1; cd "$STATE/installed"
        for name in $3; do
            [ -e "$name" ] || continue; found=0
            case $2 in *Version*) printf 'installed %s' "$(cat "$name")" ;; *) echo "installed $name" ;; esac
        done; exit $found""",
    'systemctl': """for name; do :; done
        [ "$1" = is-active ] || echo "systemctl $1 $name" >>"$STATE/calls"
        case $1 in is-active) [ -e "$STATE/running/$name" ] ;; stop) rm "$STATE/running/$name" ;;
        start) touch "$STATE/running/$name" ;; esac""",
    'lsmod': 'echo "Module Size Used by"; for m in $(ls "$STATE/modules"); do echo "$m 1 0"; done',
    'modprobe': """echo "modprobe $*" >>"$STATE/calls"
        if [ "$1" = --remove ]; then
            [ ! -e "$STATE/fails/remove-$2" ] || exit 1
            rm "$STATE/modules/$2"; [ "$2" != nvidia ] || rm -r "$SYSROOT/sys/module/nvidia"
        else
            touch "$STATE/modules/$1"; mkdir -p "$SYSROOT/sys/module/nvidia"; echo 570.133.07 >"$SYSROOT/sys/module/nvidia/version"
        fi""",
}


class System:
    """A computer with GPU, packages, services, modules and processes, all of them files."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.root, self.state, self.programs = folder / 'root', folder / 'state', folder / 'bin'
        for path in ('root/etc', 'root/proc', 'root/run', 'root/sys/bus/pci/devices/0', 'bin'):
            (folder / path).mkdir(parents=True)
        for path in ('candidates', 'installed', 'running', 'modules', 'fails'):
            (self.state / path).mkdir(parents=True)
        (self.root / 'etc/os-release').write_text('NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\n')
        for file in ('vendor 0x10de', 'class 0x030200', 'device 0x2330'):
            (self.root / 'sys/bus/pci/devices/0' / file.split()[0]).write_text(file.split()[1])
        for name, code in STUBS.items():
            (self.programs / name).write_text(f'#!/bin/sh\n{code}\n')
            (self.programs / name).chmod(0o755)
        for name in REAL.split(' '):
            (self.programs / name).symlink_to(shutil.which(name) or name)
        for name in (HEADERS, 'nvidia-driver-535', 'nvidia-driver-570', 'nvidia-driver-570-open'):
            (self.state / 'candidates' / name).write_text('570.133.07-0ubuntu1\n')

    def install(self, *services: str) -> None:
        (self.state / 'installed/nvidia-driver-535').write_text('535.54.03-0ubuntu1\n')
        files = [
            'modules/nvidia',
            'modules/nvidia_uvm',
            *(f'running/{s}.service' for s in services),
        ]
        for file in files:
            (self.state / file).touch()
        (self.root / 'sys/module/nvidia').mkdir(parents=True)
        (self.root / 'sys/module/nvidia/version').write_text('535.54.03\n')

    def add_process(self, pid: int, name: str, file: str) -> None:
        (self.root / 'proc' / str(pid) / 'fd').mkdir(parents=True)
        (self.root / 'proc' / str(pid) / 'comm').write_text(name + '\n')
        (self.root / 'proc' / str(pid) / 'fd/3').symlink_to(file)

    def run(self, *options: str, user: int = 0) -> tuple[int, list[str], str]:
        """Return the status, the commands that were run apart from ``apt-get update``, and the output."""
        folders = {'PATH': self.programs, 'SYSROOT': self.root, 'STATE': self.state}
        env = {'USER_ID': str(user), **{name: str(path) for name, path in folders.items()}}
        script = ['bash', str(SCRIPT), *options]
        done = run(script, env=env, stdout=PIPE, stderr=STDOUT, timeout=PATIENCE)
        calls = self.state / 'calls'
        lines = calls.read_text().splitlines() if calls.exists() else []
        lines = [line for line in lines if line != 'apt-get update']
        return done.returncode, lines, done.stdout.decode()


def test_new_driver_replaces_a_running_one_without_a_reboot(tmp_path: pathlib.Path) -> None:
    system = System(tmp_path)
    system.install('nvidia-persistenced', 'ssh')
    packages = f'nvidia-driver-570 {HEADERS}'
    status, calls, output = system.run('--yes', '--latest')
    assert (status, calls) == (0, [
        f'apt-get install --yes --download-only {packages}',
        'systemctl stop nvidia-persistenced.service',
        'modprobe --remove nvidia_uvm',
        'modprobe --remove nvidia',
        f'apt-get install --yes {packages}',
        'modprobe nvidia',
        'modprobe nvidia_uvm',
        'systemctl start nvidia-persistenced.service',
    ]), output  # fmt: skip


def test_use_of_a_gpu_prevents_all_changes(tmp_path: pathlib.Path) -> None:
    system = System(tmp_path)
    system.install()
    system.add_process(4711, 'python3', '/dev/nvidia0')
    status, calls, output = system.run('--yes')
    assert (status, calls) == (3, [])
    assert '4711  python3' in output


def test_dry_run_wrong_options_and_a_missing_confirmation_change_nothing(
    tmp_path: pathlib.Path,
) -> None:
    system = System(tmp_path)
    system.install('nvidia-persistenced')
    status, calls, output = system.run('--dry-run', '--latest', user=1000)
    assert (status, calls) == (0, [])
    assert 'would run: systemctl stop nvidia-persistenced' in output
    assert system.run('--latest')[:2] == (1, [])
    assert system.run('--fast')[:2] == (2, [])


@pytest.mark.parametrize('broken', ['apt-install', 'remove-nvidia', 'apt-get-install'])
def test_services_and_modules_are_restored_after_a_failure(
    tmp_path: pathlib.Path, broken: str
) -> None:
    system = System(tmp_path)
    system.install('nvidia-persistenced', 'dcgm')
    (system.state / 'fails' / broken).touch()
    assert system.run('--yes', '--latest')[0] == 1
    assert len(list((system.state / 'running').iterdir())) == 2
    assert {path.name for path in (system.state / 'modules').iterdir()} == {'nvidia', 'nvidia_uvm'}
