"""Claims: who gets which device, in which order, and what others see. Only Linux has the locks."""

from __future__ import annotations

import collections
import contextlib
import errno
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from typing import Any, Iterator
from unittest import mock

import pytest

import nvitop
from nvitop import simulation
from nvitop.api.device import Device
from nvitop.claims import acquire, records
from nvitop.claims import run as run_command
from nvitop.claims.acquire import STALE_SECONDS, ClaimRequest, Ticket, wait_and_claim
from nvitop.claims.records import (
    ClaimError,
    claimed_by_others,
    directory_to_write,
    keeper,
    read_claims,
)
from nvitop.platforms import files as shared_files
from nvitop.platforms import is_running, stuck_calls
from nvitop.platforms.files import why_unusable
from nvitop.select.choice import Criteria, select_devices
from tests.claims.waiters import FakeDevice, fake_select
from tests.command_run import CommandRun
from tests.waiting import PATIENCE, wait_until

if sys.platform != 'win32':
    import fcntl

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='claims need flock and /proc')
NOBODY = 65534
NVITOP = (sys.executable, '-m', 'nvitop')


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Provide a directory for claims."""
    tmp_path.chmod(0o1777)
    monkeypatch.setenv(records.VARIABLE, str(tmp_path))
    monkeypatch.delenv(records.CLAIM_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def machine(folder: pathlib.Path) -> Iterator[simulation.Machine]:
    """Provide four free GPUs."""
    text = ''.join('[[gpu]]\nmodel = "H100"\n' for _ in range(4))
    with simulation.machine(simulation.parse_scenario(text, name='free')) as found:
        yield found


def claimed(count: int = 1, **kwargs: Any) -> Any:
    return nvitop.claim(count, timeout=0.0, **kwargs)


def files(folder: pathlib.Path, suffix: str) -> list[pathlib.Path]:
    return sorted(folder.rglob(f'*.{suffix}'))


# Waiting and claiming


@pytest.mark.parametrize('seed', [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_device_has_two_claims_whoever_is_killed_or_suspended(
    folder: pathlib.Path, seed: int
) -> None:
    done = subprocess.run(
        [sys.executable, '-m', 'tests.claims.waiters', '32', '8', str(seed)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=PATIENCE,
    )
    result = json.loads(done.stdout)
    times: dict[tuple[str, str], dict[str, float]] = collections.defaultdict(dict)
    tickets, claims = {}, {}
    for what, pid, uuid, at in map(str.split, result['log']):
        if what == 'ticket':
            tickets[pid] = float(uuid), float(at)
        elif what == 'claim':
            claims[pid] = float(at)
        else:
            times[pid, uuid][what] = float(at)
    spans: dict[str, list[tuple[float, float]]] = collections.defaultdict(list)
    for (pid, uuid), each in times.items():
        spans[uuid].append((each['begin'], each.get('end') or result['killed'][pid]))
    assert len(spans) == 8
    for intervals in map(sorted, spans.values()):
        assert all(end <= begin for (_, end), (begin, _) in zip(intervals, intervals[1:]))
    # All that were not killed got their devices.
    assert len({pid for pid, _ in times} | result['killed'].keys()) == 32
    assert not read_claims()
    # First come, first served, where one ticket was there before the other was begun.
    for first, first_at in claims.items():
        for second, second_at in claims.items():
            if tickets[first][1] < tickets[second][0]:
                assert first_at <= second_at


def test_suspended_program_without_locks_is_skipped(folder: pathlib.Path) -> None:
    first, second, other = (
        Ticket(str(folder), ['a', 'b']),
        Ticket(str(folder), ['b']),
        Ticket(str(folder), ['c']),
    )
    assert [ticket.programs_ahead() for ticket in (first, second, other)] == [0, 1, 0]
    (path, *_) = files(folder, 'ticket')
    os.utime(path, (0, time.time() - STALE_SECONDS - 1))
    assert second.programs_ahead() == 0
    second.set_collecting(True)
    # Once it is back, the first waits until the second has given back what it has.
    first.set_collecting(False)
    assert (first.programs_ahead(), second.programs_ahead()) == (1, 1)
    second.set_collecting(False)
    assert first.programs_ahead() == 0
    # A suspended program with locks is not skipped: both would wait for each other.
    first.set_collecting(True)
    os.utime(path, (0, time.time() - STALE_SECONDS - 1))
    assert second.programs_ahead() == 1
    for ticket in (first, second, other):
        ticket.close()
    assert not files(folder, 'ticket')


def test_device_must_match_again_under_its_lock(folder: pathlib.Path) -> None:
    devices: Any = [FakeDevice(0)]
    looks = []

    def select(*_: object) -> mock.Mock:
        looks.append(1)
        return mock.Mock(chosen=devices if len(looks) != 3 else [])  # busy for a moment

    with mock.patch.object(acquire, 'select', select):
        wait_and_claim(ClaimRequest(devices), 'x', sleep=lambda _: None).release()
    assert len(looks) == 5


def test_request_that_can_never_match_fails_at_once(machine: simulation.Machine) -> None:
    with pytest.raises(ClaimError, match='5 GPUs needed, but this machine has 4'):
        ClaimRequest(Device.all(), 5).possible()
    with pytest.raises(ClaimError, match='has 0 with 100 GiB of memory'):
        ClaimRequest(Device.all(), 1, Criteria(min_free_memory=100 << 30)).possible()
    with pytest.raises(ValueError, match='count'), nvitop.claim(0):
        pass
    with mock.patch.object(acquire, 'ClaimRequest', side_effect=KeyError) as request:
        for free_accounts in ('ann', ['ann']):
            with pytest.raises(KeyError), nvitop.claim(free_accounts=free_accounts):
                pass
            assert request.call_args.args[3].accounts == {'ann'}
    machine.fail('nvmlDeviceGetCount*', 'DRIVER_NOT_LOADED')
    with pytest.raises(nvitop.NVMLError, match='Driver Not Loaded'), nvitop.claim():
        pass


@pytest.mark.parametrize(('size', 'is_free'), [('7 GiB', True), ('9 GiB', False)])
def test_device_is_free_up_to_a_tenth_of_its_memory(
    machine: simulation.Machine, size: str, is_free: bool
) -> None:
    machine.set(gpu=0, memory_base=size)
    with contextlib.nullcontext() if is_free else pytest.raises(TimeoutError), claimed(4):
        pass


# What others see


def test_claim_is_seen_and_skipped_until_it_ends(machine: simulation.Machine) -> None:
    with claimed(2) as devices:
        assert [device.index for device in devices] == [2, 3]  # the last ones, as nvisel
        found = read_claims()
        assert set(found) == {device.uuid() for device in devices} == claimed_by_others()
        (claim, _) = found.values()
        assert (claim.uid, claim.process.pid) == (os.geteuid(), os.getpid())
        assert 'python' in claim.command
        assert abs(claim.since - time.time()) < PATIENCE
        assert select_devices() == [1, 0]
        assert select_devices(ignore_claims=True) == [3, 2, 1, 0]
        with claimed(2) as others:
            assert [device.index for device in others] == [0, 1]
            with pytest.raises(TimeoutError, match='waiting for 1 GPU; gave up after 0 s'):
                claimed().__enter__()
            with claimed(4, ignore_claims=True) as every:
                assert len(every) == 4
        pid = os.fork()
        if pid == 0:
            signal.pause()
    assert read_claims() == {}
    assert not files(pathlib.Path(os.environ[records.VARIABLE]), 'claim')
    with claimed(4):  # although a child of this process has the descriptors of the locks
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def run(*words: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NVITOP, *words], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )


def run_on_demo(*words: str) -> subprocess.CompletedProcess[str]:
    return run('run', '--demo', 'half-busy', *words)


def test_command_gets_devices_and_its_own_claim_does_not_hide_them(folder: pathlib.Path) -> None:
    script = 'echo $CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES; nvisel --demo half-busy; exit 7'
    script = script.replace('nvisel', f'{sys.executable} -m nvitop.select')
    done = run_on_demo('-n', '2', 'sh', '-c', script)
    assert done.returncode == 7
    assert done.stdout == 'PCI_BUS_ID 6,7\n7,6,5,4,3,2,1,0\n'
    words = ['--wait', '0', '-O', 'uuid', '--']
    uuids = run_on_demo(*words, 'sh', '-c', 'echo $CUDA_VISIBLE_DEVICES').stdout
    assert uuids.startswith('GPU-')
    assert run_on_demo('echo', '{}', '--', '-n 2').stdout == '{} -- -n 2\n'
    assert not files(folder, 'ticket')


@pytest.mark.parametrize(
    ('words', 'status', 'message'),
    [
        (
            '-n 5 --wait 0 true',
            124,
            'GPUs\nnvitop run: error: waiting for 2 more GPUs, 3 kept for you; gave',
        ),
        ('-n 9 true', 125, '9 GPUs needed, but this machine has 8'),
        ('-t 500GiB true', 125, 'this machine has 0 with 500 GiB of memory'),
        ('/', 126, "cannot run '/'"),
        # Before the wait.
        ('-n 8 no-such-program', 127, "cannot run 'no-such-program': No such file"),
    ],
)
def test_exit_status(folder: pathlib.Path, words: str, status: int, message: str) -> None:
    done = run_on_demo(*words.split())
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert not files(folder, 'claim')


def test_command_gets_no_device_in_which_another_process_hangs(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    def find_holder(subject: stuck_calls.Subject) -> stuck_calls.Holder | None:
        return stuck_calls.Holder(4711, 90.0, 'Z') if stuck_calls._files and subject == 3 else None

    def execute(_program: str, _command: list[str]) -> None:
        raise OSError(errno.EACCES, os.environ['CUDA_VISIBLE_DEVICES'])

    for name in ('CUDA_DEVICE_ORDER', 'CUDA_VISIBLE_DEVICES', records.CLAIM_VARIABLE):
        monkeypatch.setenv(name, '')
    monkeypatch.setattr(stuck_calls, '_path', lambda _user: str(tmp_path / 'calls'))
    monkeypatch.setattr(stuck_calls, '_files', [])
    monkeypatch.setattr(stuck_calls, 'find_holder', find_holder)
    monkeypatch.setattr(os, 'execvp', execute)
    monkeypatch.setattr(signal, 'signal', lambda *_: None)  # those of pytest stay
    ran = CommandRun(run_command.main, '-n', '3', 'true')
    assert "cannot run 'true': 0,1,2" in ran.err


def test_interrupted_wait_leaves_no_ticket(folder: pathlib.Path) -> None:
    command = [*NVITOP, 'run', '--demo', 'half-busy', '-n', '8', 'true']
    with subprocess.Popen(command, stderr=subprocess.PIPE) as waiting:
        wait_until(lambda: len(files(folder, 'ticket')) == 1, 'the ticket')
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(PATIENCE) == 130
    assert not files(folder, 'ticket')


def test_wait_goes_on_if_stderr_is_closed() -> None:
    with mock.patch('sys.stderr', mock.Mock(write=mock.Mock(side_effect=BrokenPipeError))):
        run_command._show('waiting')


def test_lock_that_a_reader_tests_for_a_moment_is_taken(folder: pathlib.Path) -> None:
    path = folder / 'GPU-1.lock'
    with path.open('w') as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        release = mock.Mock(side_effect=lambda _: fcntl.flock(reader, fcntl.LOCK_UN))
        with mock.patch('time.sleep', release):
            lock = shared_files.take_lock(str(path))
    assert lock is not None
    os.close(lock)


def test_claims_are_listed(machine: simulation.Machine) -> None:
    assert run('claims').stdout == 'no GPU is claimed\n'
    with claimed() as (device,):
        (listed,) = json.loads(run('claims', '--format', 'json').stdout)
        assert (listed['uuid'], listed['pid']) == (device.uuid(), os.getpid())
        assert f' {os.getpid()} ' in run('claims').stdout


def test_mig_devices_are_claimed_by_their_uuid(folder: pathlib.Path) -> None:
    with simulation.machine('mig', processes='fixed'):
        (uuid, *_) = [mig.uuid() for device in Device.all() for mig in device.mig_devices()]
    words = ['run', '--demo', 'mig', '-i', uuid, '-f', '1MiB', 'sh', '-c']
    done = run(*words, f'echo $CUDA_VISIBLE_DEVICES; {sys.executable} -m nvitop claims')
    assert done.stdout.startswith(f'{uuid}\nGPU ')
    assert f'\n{uuid}  ' in done.stdout
    assert uuid.startswith('MIG-')
    assert [path.name for path in files(folder, 'lock')] == [f'{uuid.replace("/", "_")}.lock']


def test_wait_that_ends_gives_back_what_it_has_locked(machine: simulation.Machine) -> None:
    with claimed(2):
        with pytest.raises(TimeoutError, match='waiting for 1 more GPU, 2 kept for you; gave up'):
            claimed(3).__enter__()
        with claimed(2):
            pass


# When a claim ends


def start_claim(script: str) -> subprocess.Popen[str]:
    """Run a script that prints a line, in a claim of the demo."""
    words = ['run', '--demo', 'half-busy', sys.executable, '-c', script]
    process = subprocess.Popen([*NVITOP, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def test_claim_lasts_as_long_as_a_child_of_the_command(folder: pathlib.Path) -> None:
    with start_claim(
        'import os, time\npid = os.fork()\npid or time.sleep(99)\nprint(pid, flush=True)'
    ) as leader:
        assert leader.wait(PATIENCE) == 0
        (claim,) = read_claims().values()
        assert not is_running(claim.process)
        child = keeper(claim)
        assert child is not None
        assert f' (has ended; process {child} keeps the claim)\n' in run('claims').stdout
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: not read_claims(), 'the end of the claim')


@pytest.mark.parametrize(
    'change', [{'boot_id': 'another boot'}, {'start_time': 1}, {'namespace': 'pid:[1]'}]
)
def test_process_of_another_boot_time_or_namespace_keeps_no_claim(
    folder: pathlib.Path, change: dict[str, object]
) -> None:
    path = records.write_claim(str(folder), 'GPU-1', 'x')
    assert set(read_claims()) == {'GPU-1'}
    values = {**json.loads(pathlib.Path(path).read_text()), **change}
    pathlib.Path(path).write_text(json.dumps(values))
    assert read_claims() == {}
    older = {**values, 'since': values['since'] - 60.0, 'command': 'older'}
    (folder / 'GPU-1.1.1.claim').write_text(json.dumps(older))
    lock = shared_files.take_lock(records.lock_path(str(folder), 'GPU-1'))
    assert lock is not None
    assert [claim.command for claim in read_claims().values()] == ['x']  # the newest
    os.close(lock)
    records.remove_dead_claims(str(folder))
    assert not files(folder, 'claim')


# Files and directories of others


def test_hostile_files_are_ignored_and_cleaned(folder: pathlib.Path) -> None:
    good = pathlib.Path(
        records.write_claim(str(folder), 'GPU-9', 'evil \x1b[31m\u202e' + 'x' * 999)
    )
    values = json.loads(good.read_text())
    four = {**values, 'uuid': 'GPU-4'}
    (folder / 'GPU-1.1.1.claim').symlink_to(good)
    os.mkfifo(folder / 'GPU-2.1.1.claim')
    (folder / 'GPU-3.1.1.claim').mkdir()
    for number, text in enumerate(
        (
            '', '[]', '[' * 4000, '{"pid": 1}', 'x' * 5000, '\xff', json.dumps({**four, 'pid': '1'}),
            json.dumps({**four, 'pid': -1}), json.dumps({**four, 'pid': 1 << 63}),
            json.dumps({**four, 'uuid': '../../etc'}), json.dumps({**four, 'uuid': 'GPU-5'}),
        )
    ):  # fmt: skip
        (folder / f'GPU-4.{number + 1}.1.claim').write_text(text)
    (claim,) = read_claims().values()
    assert claim.command.startswith('evil �[31m�x')
    assert len(claim.command) == 200
    for since in (math.nan, 'nan', -1e300, math.inf):
        good.write_text(json.dumps({**values, 'since': since}))
        (claim,) = read_claims().values()
        assert 0 <= claim.since <= time.time()


@pytest.mark.skipif(os.geteuid() != 0, reason='NOT TESTED: files of two users need root')
def test_any_number_of_files_of_a_user_hides_no_claim_of_another(folder: pathlib.Path) -> None:
    for number in range(2 * records._MAX_FILES):
        path = folder / f'GPU-5.{number + 1}.7.claim'
        path.write_text('{"uuid": "GPU-9"}')
        os.chown(path, NOBODY, NOBODY)
    records.write_claim(str(folder), 'GPU-9', 'x')
    with mock.patch('os.open', wraps=os.open) as opened:
        assert set(read_claims()) == {'GPU-9'}
    # Files of the other user up to the limit, and the claim.
    assert opened.call_count == records._MAX_FILES + 1


def test_directory_is_made_for_all_users_whatever_the_umask(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / 'claims'
    monkeypatch.setenv(records.VARIABLE, str(made))
    before = os.umask(0o077)
    try:
        assert directory_to_write() == str(made)
    finally:
        os.umask(before)
    assert made.stat().st_mode & 0o7777 == 0o1777
    assert directory_to_write() == str(made)


def test_directories_that_cannot_be_trusted_are_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, file, open_to_all = tmp_path / 'link', tmp_path / 'file', tmp_path / 'open'
    link.symlink_to(tmp_path)
    file.touch()
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert why_unusable(str(tmp_path)) == ''
    assert why_unusable(str(link)) == 'a symbolic link'
    assert why_unusable(str(file)) == 'not a directory'
    assert 'not sticky' in why_unusable(str(open_to_all))
    with mock.patch.object(shared_files, 'user_id', return_value=NOBODY):
        assert ('belongs to another user' in why_unusable(str(tmp_path))) == (os.getuid() != 0)
    monkeypatch.setattr(shared_files, 'file_system', lambda _: 'nfs4')
    assert 'nfs4' in why_unusable(str(tmp_path))
    monkeypatch.setenv(records.VARIABLE, str(file))
    with pytest.raises(ClaimError, match=r'not a directory.*set NVITOP_CLAIMS'):
        directory_to_write()
    monkeypatch.setattr(shared_files, 'file_system', lambda _: 'tmpfs')
    monkeypatch.setenv(records.VARIABLE, str(open_to_all))
    with pytest.raises(ClaimError, match='not sticky'):
        directory_to_write()
    assert open_to_all.stat().st_mode & 0o7777 == 0o777  # its owner wants that
    (tmp_path / 'queue').symlink_to(open_to_all)
    with pytest.raises(ClaimError, match='queue: a symbolic link'):
        Ticket(str(tmp_path), [])


def test_full_file_system_leaves_no_half_claim(machine: simulation.Machine) -> None:
    written = os.write

    def write(descriptor: int, data: bytes) -> int:
        if b'"command"' in data:
            raise OSError(errno.ENOSPC, 'No space left on device')
        return written(descriptor, data)

    with mock.patch('os.write', write), pytest.raises(ClaimError, match='No space left'):
        claimed(2).__enter__()
    folder = pathlib.Path(os.environ[records.VARIABLE])
    assert not [*files(folder, 'claim'), *files(folder, 'new'), *files(folder, 'ticket')]
    with claimed(4):  # all locks are free
        pass


def test_files_of_others_are_never_opened_for_creation(folder: pathlib.Path) -> None:
    """Linux refuses that in sticky directories, even to root (``fs.protected_regular=2``)."""
    opened = os.open

    def open_protected(path: str, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT and not flags & os.O_EXCL and os.path.exists(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, flags, *mode)

    (folder / 'GPU-00000000.lock').touch()
    devices: Any = [FakeDevice(0)]
    with mock.patch('os.open', open_protected), mock.patch.object(acquire, 'select', fake_select):
        for _ in range(2):
            wait_and_claim(ClaimRequest(devices), 'x').release()
            assert read_claims() == {}


# Claims in samples


def test_monitor_and_query_show_who_has_claimed_an_idle_device(folder: pathlib.Path) -> None:
    script = 'import signal\nprint(1, flush=True)\nsignal.pause()'
    with start_claim(script) as process:
        report = run('-1', '--demo', 'half-busy').stdout
        fields = 'index,state,claim.user,claim.command,claim_pid,claim.since'
        rows = run('query', '--demo', 'half-busy', f'--gpu={fields}', '--format', 'json').stdout
        process.kill()
    user = nvitop.host.getuser()
    assert re.search(f'claimed +{re.escape(user[:7])}', report)
    *others, claimed_row = json.loads(rows)['devices']
    assert claimed_row['claim_user'] == user
    assert "-c 'import signal\ufffdprint(" in claimed_row['claim_command']
    assert (claimed_row['index'], claimed_row['claim_pid']) == (7, process.pid)
    assert [row['claim_user'] for row in others] == [None] * 7
    assert claimed_row['state'] == 'claimed'


def test_secrets_in_the_command_of_a_claim_are_masked(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, 'argv', ['train.py', '--api-key', '1'])
    with claimed(1):
        (claim,) = read_claims().values()
    assert claim.command == 'python train.py --api-key ••••••••'


def test_claim_removes_files_of_claims_that_ended(machine: simulation.Machine) -> None:
    folder = pathlib.Path(os.environ[records.VARIABLE])
    dead = pathlib.Path(records.write_claim(str(folder), 'GPU-1', 'x'))
    dead.write_text(json.dumps({**json.loads(dead.read_text()), 'start_time': 1}))
    with claimed():
        assert not dead.exists()
