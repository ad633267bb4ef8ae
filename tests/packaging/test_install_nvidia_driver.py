"""``install-nvidia-driver.sh`` on simulated systems: stubs replace every command it runs."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import pytest

from tests.waiting import PATIENCE

SCRIPT = pathlib.Path(__file__).parent.parent.parent / 'install-nvidia-driver.sh'

pytestmark = pytest.mark.skipif(
    sys.platform == 'win32' or shutil.which('bash') is None, reason='NOT TESTED: no bash'
)

#: Command → script of its stub. ``$STATE`` holds the state of the system, ``$SYSROOT`` its files.
STUBS = {
    'id': 'cat "$STATE/uid"',
    'uname': 'echo 6.8.0-60-generic',
    'apt-get': """
        echo "apt-get $*" >>"$STATE/calls"
        [ ! -e "$STATE/fails/apt-get-$1" ] || exit 100
        case "$*" in *--download-only*) exit 0 ;; esac
        [ "$1" = install ] || exit 0
        [ ! -e "$STATE/fails/apt-install" ] || exit 100
        shift
        for name; do
            case $name in --*) continue ;; esac
            cp "$STATE/candidates/$name" "$STATE/installed/$name"
        done""",
    'apt-cache': """
        case $1 in
        pkgnames) cd "$STATE/candidates" && ls | grep "^$2" ;;
        policy) [ ! -e "$STATE/candidates/$2" ] || printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' \\
            "$2" "$(cat "$STATE/candidates/$2")" ;;
        esac""",
    'dpkg-query': """
        format=${2#*=} found=1
        cd "$STATE/installed"
        for name in $3; do
            [ -e "$name" ] || continue
            found=0
            case $format in
            *Version*) printf 'installed %s' "$(cat "$name")" ;;
            *) echo "installed $name" ;;
            esac
        done
        exit $found""",
    'systemctl': """
        for name; do :; done
        [ "$1" = is-active ] || echo "systemctl $*" >>"$STATE/calls"
        case $1 in
        is-active) [ -e "$STATE/running/$name" ] ;;
        stop) rm "$STATE/running/$name" ;;
        start) touch "$STATE/running/$name" ;;
        esac""",
    'lsmod': 'echo "Module Size Used by"; for m in $(ls "$STATE/modules"); do echo "$m 1 0"; done',
    'modprobe': """
        echo "modprobe $*" >>"$STATE/calls"
        if [ "$1" = --remove ]; then
            [ ! -e "$STATE/fails/remove-$2" ] || exit 1
            rm "$STATE/modules/$2"
            [ "$2" != nvidia ] || rm -r "$SYSROOT/sys/module/nvidia"
            exit
        fi
        [ ! -e "$STATE/fails/load-$1" ] || exit 1
        touch "$STATE/modules/$1"
        if [ "$1" = nvidia ]; then
            mkdir -p "$SYSROOT/sys/module/nvidia"
            cat "$STATE"/installed/nvidia-driver* | tail -n 1 | sed 's/-.*//' >"$SYSROOT/sys/module/nvidia/version"
        fi""",
    'nvidia-smi': 'cat "$SYSROOT/sys/module/nvidia/version"',
    # As the real one does when a process ends meanwhile.
    'find': '"$FIND" "$@"; exit 1',
    # Nothing may be reached by another way.
    'sudo': 'echo "sudo $*" >>"$STATE/calls"; exit 1',
    'reboot': 'echo reboot >>"$STATE/calls"; exit 1',
}
#: Real commands that the script needs.
REAL = 'bash cat cp env grep ls mkdir rm sed sh sleep sort tail touch'

UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'
DEBIAN = 'NAME="Debian GNU/Linux"\nID=debian\n'
SERIES = {'535': '535.183.01', '570': '570.133.07'}
HEADERS = 'linux-headers-6.8.0-60-generic'


class System:
    """Simulated computer with a distribution, packages, services, modules, GPUs and processes."""

    def __init__(self, folder: pathlib.Path, release: str = UBUNTU) -> None:
        self.root = folder / 'root'
        self.state = folder / 'state'
        self.programs = folder / 'programs'
        for path in ('etc', 'proc', 'run', 'sys/bus/pci/devices'):
            (self.root / path).mkdir(parents=True)
        for path in ('candidates', 'installed', 'running', 'modules', 'fails'):
            (self.state / path).mkdir(parents=True)
        (self.state / 'uid').write_text('0\n')
        (self.root / 'etc/os-release').write_text(release)
        self.programs.mkdir()
        for name, code in STUBS.items():
            (self.programs / name).write_text(f'#!/bin/sh\n{code}\n')
            (self.programs / name).chmod(0o755)
        for name in REAL.split(' '):
            found = shutil.which(name)
            assert found is not None
            (self.programs / name).symlink_to(found)
        self.offer(HEADERS, '6.8.0-60.63')
        self.add_gpu('0x2330')

    def offer(self, name: str, version: str) -> None:
        """Make a package available."""
        (self.state / 'candidates' / name).write_text(version + '\n')

    def offer_ubuntu(self) -> None:
        """Make the packages of Ubuntu available: two series, with and without -server and -open."""
        for series, version in SERIES.items():
            for suffix in ('', '-open', '-server', '-server-open'):
                self.offer(f'nvidia-driver-{series}{suffix}', f'{version}-0ubuntu0.24.04.1')
        self.offer('nvidia-driver-assistant', '9.9')

    def add_gpu(self, device: str) -> None:
        """Add a GPU with this PCI device id."""
        folder = self.root / 'sys/bus/pci/devices' / f'0000:{len(self.gpus):02x}:00.0'
        folder.mkdir()
        for name, text in (('vendor', '0x10de'), ('class', '0x030200'), ('device', device)):
            (folder / name).write_text(text + '\n')

    @property
    def gpus(self) -> list[pathlib.Path]:
        return sorted((self.root / 'sys/bus/pci/devices').iterdir())

    def install(self, name: str, version: str, *, loaded: bool = True) -> None:
        """Install a driver and load its modules."""
        (self.state / 'installed' / name).write_text(version + '-0ubuntu0.24.04.1\n')
        if loaded:
            for module in ('nvidia', 'nvidia_uvm', 'nvidia_modeset'):
                (self.state / 'modules' / module).touch()
            (self.root / 'sys/module/nvidia').mkdir(parents=True)
            (self.root / 'sys/module/nvidia/version').write_text(version + '\n')

    def add_process(self, pid: int, name: str, *files: str) -> None:
        """Add a process with open files."""
        folder = self.root / 'proc' / str(pid)
        (folder / 'fd').mkdir(parents=True)
        (folder / 'comm').write_text(name + '\n')
        for number, file in enumerate(files):
            (folder / 'fd' / str(number)).symlink_to(file)

    def start(self, *services: str) -> None:
        for service in services:
            (self.state / 'running' / f'{service}.service').touch()

    def fail(self, what: str) -> None:
        (self.state / 'fails' / what).touch()

    def run(self, *options: str, patience: int = 30) -> subprocess.CompletedProcess[str]:
        """Run the script with ``--yes``, or without it if ``--ask`` is given."""
        given = [option for option in options if option != '--ask']
        yes = [] if '--ask' in options else ['--yes']
        return subprocess.run(
            ['bash', str(SCRIPT), *yes, *given],
            env={
                'PATH': str(self.programs),
                'SYSROOT': str(self.root),
                'STATE': str(self.state),
                'FIND': shutil.which('find') or '',
                'PATIENCE': str(patience),
                'LC_ALL': 'C',
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    @property
    def calls(self) -> list[str]:
        """Commands that were run, in order."""
        path = self.state / 'calls'
        return path.read_text().splitlines() if path.exists() else []

    @property
    def changes(self) -> list[str]:
        """Commands that were run, except reading the package lists."""
        return [call for call in self.calls if call != 'apt-get update']

    @property
    def installed(self) -> set[str]:
        return {path.name for path in (self.state / 'installed').iterdir()}

    @property
    def running(self) -> set[str]:
        return {path.name[: -len('.service')] for path in (self.state / 'running').iterdir()}

    @property
    def modules(self) -> set[str]:
        return {path.name for path in (self.state / 'modules').iterdir()}


@pytest.fixture
def ubuntu(tmp_path: pathlib.Path) -> System:
    system = System(tmp_path)
    system.offer_ubuntu()
    return system


@pytest.fixture
def debian(tmp_path: pathlib.Path) -> System:
    system = System(tmp_path, DEBIAN)
    for name in ('nvidia-driver', 'nvidia-kernel-dkms', 'nvidia-open-kernel-dkms'):
        system.offer(name, '535.183.01-1')
    return system


def test_newest_driver_is_installed_by_default(ubuntu: System) -> None:
    done = ubuntu.run()
    assert (done.returncode, done.stderr) == (0, '')
    assert ubuntu.calls == [
        'apt-get update',
        f'apt-get install --yes --download-only nvidia-driver-570-open {HEADERS}',
        f'apt-get install --yes nvidia-driver-570-open {HEADERS}',
        'modprobe nvidia',
    ]
    assert 'The driver responds: version 570.133.07.' in done.stdout


def test_a_second_run_does_nothing(ubuntu: System) -> None:
    assert ubuntu.run().returncode == 0
    before = len(ubuntu.changes)
    done = ubuntu.run()
    assert done.returncode == 0
    assert len(ubuntu.changes) == before
    assert 'Nothing to do: nvidia-driver-570-open 570.133.07-0ubuntu0.24.04.1' in done.stdout


@pytest.mark.parametrize(
    ('device', 'name'),
    [
        ('0x1b06', 'nvidia-driver-570'),  # GTX 1080 Ti, Pascal
        ('0x1db4', 'nvidia-driver-570'),  # V100, Volta
        ('0x1e04', 'nvidia-driver-570-open'),  # RTX 2080 Ti, Turing
        ('0x2901', 'nvidia-driver-570-open'),  # B200, Blackwell
    ],
)
def test_gpus_determine_the_kernel_modules(ubuntu: System, device: str, name: str) -> None:
    ubuntu.add_gpu(device)
    assert ubuntu.run().returncode == 0
    assert ubuntu.installed == {name, HEADERS}


@pytest.mark.parametrize(
    ('before', 'options', 'name'),
    [
        ('nvidia-driver-535', (), 'nvidia-driver-535'),
        ('nvidia-driver-535', ('--latest',), 'nvidia-driver-570'),
        ('nvidia-driver-535', ('--open',), 'nvidia-driver-535-open'),
        ('nvidia-driver-535-open', ('--latest', '--proprietary'), 'nvidia-driver-570'),
        ('nvidia-driver-535-server', ('--latest',), 'nvidia-driver-570-server'),
        ('nvidia-driver-535-server-open', (), 'nvidia-driver-535-server-open'),
        ('nvidia-driver-535', ('--package=nvidia-driver-570-server',), 'nvidia-driver-570-server'),
        ('nvidia-driver-535', ('--package', 'nvidia-driver-570'), 'nvidia-driver-570'),
    ],
)
def test_installed_series_and_kind_are_kept_by_default(
    ubuntu: System, before: str, options: tuple[str, ...], name: str
) -> None:
    ubuntu.install(before, '535.54.03')
    done = ubuntu.run(*options)
    assert done.returncode == 0, done.stderr
    assert f'apt-get install --yes {name} {HEADERS}' in ubuntu.calls


def test_debian_gets_a_package_of_kernel_modules(debian: System) -> None:
    done = debian.run()
    assert done.returncode == 0, done.stderr
    assert debian.installed == {'nvidia-driver', 'nvidia-open-kernel-dkms', HEADERS}
    done = debian.run('--proprietary')
    assert done.returncode == 0, done.stderr
    assert 'nvidia-kernel-dkms' in debian.installed


def test_running_driver_is_replaced_without_a_reboot(ubuntu: System) -> None:
    ubuntu.install('nvidia-driver-535-open', '535.54.03')
    ubuntu.start('nvidia-persistenced', 'nvidia-dcgm', 'ssh')
    ubuntu.add_process(70, 'nvidia-persistenced', '/dev/nvidia0')
    ubuntu.add_process(71, 'nv-hostengine', '/dev/nvidiactl')
    done = ubuntu.run()
    assert done.returncode == 0, done.stderr
    packages = f'nvidia-driver-535-open {HEADERS}'
    assert ubuntu.changes == [
        f'apt-get install --yes --download-only {packages}',
        'systemctl stop nvidia-dcgm.service',
        'systemctl stop nvidia-persistenced.service',
        'modprobe --remove nvidia_modeset',
        'modprobe --remove nvidia_uvm',
        'modprobe --remove nvidia',
        f'apt-get install --yes {packages}',
        'modprobe nvidia',
        'modprobe nvidia_uvm',
        'modprobe nvidia_modeset',
        'systemctl start nvidia-persistenced.service',
        'systemctl start nvidia-dcgm.service',
    ]
    assert ubuntu.running == {'nvidia-persistenced', 'nvidia-dcgm', 'ssh'}


def test_processes_on_a_gpu_prevent_the_installation(ubuntu: System) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    ubuntu.add_process(4711, 'python3', '/dev/null', '/dev/nvidia0', '/dev/nvidiactl')
    ubuntu.add_process(4712, 'bash', '/dev/pts/0')
    done = ubuntu.run()
    assert done.returncode == 3
    assert re.search(r'^ +4711  python3$', done.stderr, re.MULTILINE)
    assert '4712' not in done.stderr
    assert '--end-processes' in done.stderr
    assert ubuntu.changes == []


@pytest.mark.parametrize('ignores', [False, True], ids=['SIGTERM', 'SIGKILL'])
def test_end_processes_option_ends_processes_on_gpus(ubuntu: System, ignores: bool) -> None:
    code = 'import signal, sys\n'
    code += 'signal.signal(signal.SIGTERM, signal.SIG_IGN)\n' if ignores else ''
    code += 'print(flush=True)\nsys.stdin.read()'
    command = [sys.executable, '-S', '-c', code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            ubuntu.install('nvidia-driver-535', '535.54.03')
            ubuntu.add_process(process.pid, 'python3', '/dev/nvidia-uvm')
            # Reap the child: a zombie would seem to be alive.
            waiting = threading.Thread(target=process.wait)
            waiting.start()
            done = ubuntu.run('--end-processes', patience=1 if ignores else 90)
            waiting.join(PATIENCE)
            assert done.returncode == 0, done.stderr
            assert process.wait(PATIENCE) == (-9 if ignores else -15)
        finally:
            process.kill()


def test_display_manager_prevents_the_installation(ubuntu: System) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    (ubuntu.state / 'modules/nvidia_drm').touch()
    ubuntu.start('display-manager')
    ubuntu.add_process(900, 'Xorg', '/dev/nvidia0')
    done = ubuntu.run()
    assert (done.returncode, ubuntu.changes) == (3, [])
    assert '--stop-display' in done.stderr
    done = ubuntu.run('--stop-display')
    assert done.returncode == 0, done.stderr
    assert ubuntu.changes.index('systemctl stop display-manager.service') < ubuntu.changes.index(
        'modprobe --remove nvidia_drm'
    )
    assert ubuntu.changes[-1] == 'systemctl start display-manager.service'


def test_display_on_another_card_is_left_alone(ubuntu: System) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    ubuntu.start('display-manager')
    assert ubuntu.run().returncode == 0
    assert not any('display-manager' in call for call in ubuntu.calls)


def test_no_reload_only_installs(ubuntu: System) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    ubuntu.start('nvidia-persistenced', 'display-manager')
    ubuntu.add_process(4711, 'python3', '/dev/nvidia0')
    done = ubuntu.run('--no-reload')
    assert done.returncode == 0, done.stderr
    assert all(call.startswith('apt-get ') for call in ubuntu.calls)
    assert 'at the next boot' in done.stdout


def test_nouveau_is_replaced_at_the_next_boot(ubuntu: System) -> None:
    (ubuntu.state / 'modules/nouveau').touch()
    done = ubuntu.run()
    assert done.returncode == 0
    assert 'nouveau' in done.stdout
    assert all(call.startswith('apt-get ') for call in ubuntu.calls)


def test_installed_driver_is_loaded(ubuntu: System) -> None:
    for name in ('nvidia-driver-570-open', HEADERS):
        (ubuntu.state / 'installed' / name).write_text(
            (ubuntu.state / 'candidates' / name).read_text()
        )
    done = ubuntu.run()
    assert done.returncode == 0, done.stderr
    assert ubuntu.changes[-1] == 'modprobe nvidia'


def test_dry_run_prints_every_command_and_runs_none(ubuntu: System) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    ubuntu.start('nvidia-persistenced')
    (ubuntu.state / 'uid').write_text('1000\n')
    done = ubuntu.run('--dry-run', '--latest', '--ask')
    assert done.returncode == 0, done.stderr
    assert ubuntu.calls == []
    shown = re.findall(r'^would run: (.*)$', done.stdout, re.MULTILINE)
    assert shown[0] == 'apt-get update'
    assert 'systemctl stop nvidia-persistenced.service' in shown
    assert (
        f'env DEBIAN_FRONTEND=noninteractive apt-get install --yes nvidia-driver-570 {HEADERS}'
        in shown
    )
    assert shown[-1] == 'systemctl start nvidia-persistenced.service'


@pytest.mark.parametrize('broken', ['apt-install', 'remove-nvidia_uvm', 'load-nvidia'])
def test_services_and_modules_are_restored_after_a_failure(ubuntu: System, broken: str) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    ubuntu.start('nvidia-persistenced', 'dcgm')
    ubuntu.fail(broken)
    done = ubuntu.run()
    assert done.returncode == 1
    assert 'install-nvidia-driver.sh: ' in done.stderr
    assert ubuntu.running == {'nvidia-persistenced', 'dcgm'}
    if broken != 'load-nvidia':
        assert ubuntu.modules == {'nvidia', 'nvidia_uvm', 'nvidia_modeset'}


@pytest.mark.parametrize('broken', ['apt-get-update', 'apt-get-install'])
def test_failed_download_stops_nothing(ubuntu: System, broken: str) -> None:
    ubuntu.install('nvidia-driver-535', '535.54.03')
    ubuntu.start('nvidia-persistenced')
    ubuntu.fail(broken)
    done = ubuntu.run()
    assert done.returncode == 1
    assert 'cannot download' in done.stderr
    assert not any(call.startswith(('systemctl', 'modprobe')) for call in ubuntu.calls)


def test_confirmation_precedes_all_changes(ubuntu: System) -> None:
    done = ubuntu.run('--ask')
    assert (done.returncode, ubuntu.changes) == (1, [])
    assert 'To be installed: nvidia-driver-570-open' in done.stdout
    assert '--yes' in done.stderr


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        (('--fast',), 'unknown option: --fast'),
        (('--package',), 'requires a package name'),
        (('--package=',), 'unknown option'),
        (('--package=../x',), 'invalid package name'),
        (('--open', '--proprietary'), 'mutually exclusive'),
        (('--package=nvidia-driver-570', '--open'), 'cannot be combined'),
    ],
)
def test_invalid_options_are_usage_errors(
    ubuntu: System, options: tuple[str, ...], text: str
) -> None:
    done = ubuntu.run(*options)
    assert done.returncode == 2
    assert text in done.stderr
    assert ubuntu.calls == []


def test_help_works_on_every_system(tmp_path: pathlib.Path) -> None:
    done = System(tmp_path, 'ID=fedora\n').run('--help')
    assert (done.returncode, done.stderr) == (0, '')
    for option in re.findall(r'^ {8}(--[\w-]+)', SCRIPT.read_text(), re.MULTILINE):
        assert option in done.stdout


def test_unsupported_systems_are_explained(tmp_path: pathlib.Path) -> None:
    other = System(tmp_path / 'fedora', 'ID=fedora\n').run()
    assert (other.returncode, other.stdout) == (1, '')
    assert 'unsupported system: fedora' in other.stderr
    wsl = System(tmp_path / 'wsl')
    (wsl.root / 'proc/version').write_text('Linux version 5.15.0-microsoft-standard-WSL2\n')
    assert 'WSL uses the Windows driver' in wsl.run().stderr
    container = System(tmp_path / 'container')
    (container.root / '.dockerenv').touch()
    assert 'the driver of the host' in container.run().stderr
    user = System(tmp_path / 'user')
    (user.state / 'uid').write_text('1000\n')
    assert 'root is required' in user.run().stderr
    bare = System(tmp_path / 'bare')
    (bare.programs / 'modprobe').unlink()
    assert 'the command modprobe is missing' in bare.run().stderr
    for system in (wsl, container, user, bare):
        assert system.calls == []


def test_missing_package_source_is_explained(tmp_path: pathlib.Path) -> None:
    assert 'restricted' in System(tmp_path / 'ubuntu').run().stderr
    assert 'non-free' in System(tmp_path / 'debian', DEBIAN).run().stderr
    absent = System(tmp_path / 'absent').run('--package=nvidia-driver-999')
    assert 'unknown package nvidia-driver-999' in absent.stderr


def test_script_is_executable_and_downloads_nothing_itself() -> None:
    assert os.access(SCRIPT, os.X_OK)
    assert 'curl' not in SCRIPT.read_text()
