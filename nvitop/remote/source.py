# SPDX-License-Identifier: Apache-2.0
"""Another machine as a source of samples, over OpenSSH.

``nvitop query --samples`` runs on that machine and prints a line of JSON for each sample. What the
screen shows goes the other way as lines of JSON, so nothing else is measured there. On a machine of a
fleet without nvitop, ``nvidia-smi -q -x`` and ``ps`` run instead. How to reach the machine (user, port,
keys, jump hosts, connection sharing) is up to the configuration of ssh.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import shlex
import subprocess
import threading
import time
from typing import IO, Callable, Mapping, Sequence

from nvitop.basics.text import printable
from nvitop.basics.units import format_duration
from nvitop.remote.smi import PS, SmiError, read_smi
from nvitop.sampling.serialization import MAX_BYTES, SerializationError, dumps_demand, loads
from nvitop.sampling.types import EMPTY_SAMPLE, STALE_SECONDS, Demand, Origin, Sample

#: Variable with the ssh program and its options, if it is not ``ssh``.
SSH_VARIABLE = 'NVITOP_SSH'
#: No prompts, because the monitor owns the screen. Dead connections end after 15 s.
OPTIONS = (
    '-T',
    *('-o', 'BatchMode=yes'),
    *('-o', 'ConnectTimeout=10'),
    *('-o', 'ServerAliveInterval=5'),
    *('-o', 'ServerAliveCountMax=3'),
)
#: A line that is a sample. Before it, shells may print greetings.
PREFIX = b'{"nvitop_sample"'
#: Time (seconds) that :meth:`RemoteSource.sample` waits for news.
WAIT_SECONDS = 0.25
#: Time (seconds) after which the demand is sent again.
DEMAND_SECONDS = 30.0
#: Ages (seconds) of the last sample at which the screen shows the age, and at which the connection is
#: replaced. The interval between samples is added.
OLD_SECONDS = 3.0
DEAD_SECONDS = 30.0
#: Pauses (seconds) before new connections.
PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)
#: Maximum time (seconds) to wait for ssh to exit.
END_SECONDS = 1.0
#: Number of lines from the other machine that are kept to explain a failure.
KEPT_LINES = 10

#: Exit statuses of ssh itself, of a shell that does not find a program, and of the script of a fleet
#: if there is neither nvitop 2 nor nvidia-smi.
SSH_FAILED = 255
NOT_FOUND = 127
NO_PROGRAM = 69
#: First bytes of what nvidia-smi prints, and the line after what ps prints.
XML_START, SMI_END = b'<?xml', b'nvitop-end'
#: Seconds between two runs of nvidia-smi, which takes up to a second of CPU.
SMI_SECONDS = 5


class RemoteError(Exception):
    """The other machine cannot be watched. The text is shown to the user."""


def ssh_command(
    host: str,
    arguments: Sequence[str],
    environ: Mapping[str, str] = os.environ,
    *,
    or_smi: bool = False,
) -> list[str]:
    """Return the command that runs ``nvitop`` with these arguments on a machine.

    With *or_smi*, a machine without nvitop 2 runs nvidia-smi and ps at intervals.

    Raises:
        RemoteError: The name of the host or :data:`SSH_VARIABLE` is invalid.
    """
    if not host or host.startswith('-') or printable(host) != host:
        raise RemoteError(f'not the name of a host: {printable(host)!r}')
    if host.endswith('@'):
        raise RemoteError(f'no host name in {host!r}')
    program = ' '.join(map(shlex.quote, ['nvitop', *arguments]))
    script = f'exec {program}'
    if or_smi:
        script = (
            f'case "$(nvitop --version 2>/dev/null)" in "nvitop "[2-9]*) {script};; esac; '
            f'command -v nvidia-smi >/dev/null || exit {NO_PROGRAM}; '
            # The end of its input, which is otherwise ignored, ends the loop.
            'exec 3<&0; { cat <&3 >/dev/null; kill $$; } & '
            f'while nvidia-smi -q -x; do {PS} 2>/dev/null; echo {SMI_END.decode()}; '
            f'sleep {SMI_SECONDS}; done'
        )
    # Shells without login often lack the directory where pipx and uv install programs.
    script = f'PATH="$PATH:$HOME/.local/bin"; {script}'
    try:
        ssh = shlex.split(environ.get(SSH_VARIABLE, '')) or ['ssh']
    except ValueError as error:
        raise RemoteError(f'{SSH_VARIABLE} is not a command line: {error}') from None
    return [*ssh, *OPTIONS, '--', host, f'exec sh -c {shlex.quote(script)}']


def explain(host: str, status: int, lines: Sequence[str]) -> str:
    """Explain in a few lines why ssh or the program on the host exited."""
    last = lines[-1] if lines else ''
    if status == SSH_FAILED:
        if 'Host key verification failed' in last:
            return f'{last}\nRun "ssh {host}" once to check its key.'
        return last or f'ssh cannot connect to {host}'
    if status == NO_PROGRAM:
        return (
            f'{host} has neither nvitop 2 nor nvidia-smi on the PATH of a shell without login.\n'
            f'Install nvitop there: ssh {host} pipx install nvitop'
        )
    if status == NOT_FOUND:
        return (
            f'nvitop is not installed on {host}, or not on the PATH of a shell without login.\n'
            f'Check: ssh {host} nvitop --version'
        )
    if any('--samples' in line for line in lines):
        return f'nvitop on {host} is too old: it has no "query --samples". Update it there.'
    for place, line in enumerate(lines):
        if 'error: ' in line:  # what to do follows in more lines
            return '\n'.join((line.partition('error: ')[2], *lines[place + 1 :]))
    return last or f'nvitop on {host} ended with status {status}'


class _Connection:
    """One run of ssh: its samples, and why it exited."""

    def __init__(self, host: str, command: Sequence[str], on_news: threading.Condition) -> None:
        self._host = host
        self._news = on_news
        #: Its last messages.
        self.lines: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
        self._sent: Demand | None = None
        self._sent_at = 0.0
        #: The last sample, its number, and when it arrived.
        self.sample: Sample | None = None
        self.count = 0
        self.arrived = time.monotonic()
        #: Why samples of the machine cannot be read.
        self.refusal = ''
        #: Whether samples come from nvidia-smi.
        self.is_smi = False
        try:
            # In its own session, ssh neither prompts on the terminal nor receives its signals.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise RemoteError(f'cannot run {command[0]}: {error.strerror}') from None
        self._threads = [
            threading.Thread(target=read, args=(output,), daemon=True)
            for read, output in (
                (self._read_samples, self._process.stdout),
                (self._read_messages, self._process.stderr),
            )
        ]
        for thread in self._threads:
            thread.start()

    def _read_samples(self, output: IO[bytes]) -> None:
        skipped = 0
        with output:
            for line in iter(lambda: output.readline(MAX_BYTES + 1), b''):
                skipped += len(line)
                if skipped > MAX_BYTES:  # a line that does not end, or endless greetings
                    self.refusal = f'sent more than {MAX_BYTES >> 20} MiB without a sample'
                    self._process.kill()
                    break
                if line.startswith(PREFIX):
                    self._take(functools.partial(loads, line))
                elif line.startswith(XML_START):
                    self.is_smi = True
                    self._take(functools.partial(self._read_smi, line, output))
                else:
                    self._keep(line)
                    continue
                skipped = 0
        with self._news:
            self._news.notify_all()

    def _read_smi(self, line: bytes, output: IO[bytes]) -> Sample:
        """Read what nvidia-smi and ps print until the last line."""
        block: list[bytes] = []
        size = 0
        while line and not line.startswith(SMI_END):
            size += len(line)
            if size > MAX_BYTES:
                self._process.kill()
                raise SmiError(f'nvidia-smi printed more than {MAX_BYTES >> 20} MiB')
            block.append(line)
            line = output.readline(MAX_BYTES + 1)
        xml, end, ps = b''.join(block).partition(b'</nvidia_smi_log>')
        text = ps.decode('utf-8', 'replace')
        now, monotonic = time.time(), time.monotonic()
        return read_smi(xml + end, text, timestamp=now, monotonic=monotonic, host=self._host)

    def _take(self, read: Callable[[], Sample]) -> None:
        try:
            sample = read()
        except (SerializationError, SmiError) as error:
            self.refusal = str(error)
            return
        with self._news:
            self.sample, self.arrived, self.refusal = sample, time.monotonic(), ''
            self.count += 1
            self._news.notify_all()

    def _read_messages(self, output: IO[bytes]) -> None:
        with output:
            for line in iter(lambda: output.readline(4096), b''):
                self._keep(line)

    def _keep(self, line: bytes) -> None:
        text = printable(line[:400].decode('utf-8', 'replace').strip())
        if text and not text.startswith('Warning: Permanently added'):
            self.lines.append(text)

    def send(self, demand: Demand) -> None:
        """Send the demand to the other machine, when it changes and at intervals."""
        now = time.monotonic()
        if demand == self._sent and now - self._sent_at < DEMAND_SECONDS:
            return
        self._sent, self._sent_at = demand, now
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, which is noticed elsewhere
            self._process.stdin.write(f'{dumps_demand(demand)}\n'.encode())
            self._process.stdin.flush()

    def ended(self) -> int | None:
        status = self._process.poll()
        if status is not None:
            for thread in self._threads:
                thread.join(END_SECONDS)
        return status

    def close(self) -> None:
        """Stop ssh. The program on the other machine reads the end of its input and exits."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended before
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(END_SECONDS)


class RemoteSource:
    """Samples of another machine; reconnects when the connection breaks.

    One thread uses it at a time, like every :class:`~nvitop.sampling.types.Source`.

    Args:
        host: Name of the machine, as for ``ssh``.
        arguments: Arguments of ``nvitop`` on that machine.
        interval: Seconds between samples.
        or_smi: Whether nvidia-smi and ps run on a machine without nvitop 2.
    """

    #: No driver is called here.
    threads_inside = 0

    def __init__(
        self, host: str, arguments: Sequence[str], *, interval: float = 1.0, or_smi: bool = False
    ) -> None:
        self._host = host
        self._command = ssh_command(host, arguments, or_smi=or_smi)
        self._interval = interval
        self._news = threading.Condition()
        self._connection: _Connection | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._trouble = ''
        #: Whether the samples come from nvidia-smi, because the machine has no nvitop 2.
        self.is_smi = False
        self._count = 0
        self._sequence = 0
        #: Time of our clock minus the clock of the other machine.
        self._offset: float | None = None
        self._last = EMPTY_SAMPLE

    @property
    def origin(self) -> Origin:
        """The other machine, and why no new samples arrive."""
        return Origin(
            no_signals=f'Not available: the processes run on {self._host}',
            host=self._host,
            trouble=self._trouble,
        )

    def next_due(self) -> float:
        """Return 0.0: waiting for a sample is always due."""
        return 0.0

    def refresh(self) -> None:
        """Do nothing: samples arrive as they are taken."""

    def sample(self, demand: Demand) -> Sample:
        """Return the newest sample, marked if it is stale; wait a moment for it."""
        if self._connection is None and time.monotonic() >= self._retry_at:
            self._connection = _Connection(self._host, self._command, self._news)
            self._count = 0
        connection = self._connection
        if connection is None:
            with self._news:
                self._news.wait(WAIT_SECONDS)
        else:
            self._receive(connection, demand)
        if self._sequence and time.monotonic() - self._last.monotonic >= STALE_SECONDS:
            self._last = self._last._replace(is_late=True)
        return self._last

    def _receive(self, connection: _Connection, demand: Demand) -> None:
        connection.send(demand)
        with self._news:
            self._news.wait_for(
                lambda: connection.count != self._count or connection.ended() is not None,
                WAIT_SECONDS,
            )
            sample, count, arrived = connection.sample, connection.count, connection.arrived
        if sample is not None and count != self._count:
            self._count, self._failures, self._trouble = count, 0, ''
            self.is_smi = connection.is_smi
            self._last = self._placed(sample, arrived)
        else:
            self._check(connection)

    def first_sample(self, demand: Demand, seconds: float) -> Sample:
        """Return the first sample; RemoteError if none arrives in time, or the connection fails."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            sample = self.sample(demand)
            if sample.sequence:
                return sample
            if self._failures:
                raise RemoteError(self._trouble)
        raise RemoteError(f'{self._host} sent no sample within {seconds:.0f} s')

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _check(self, connection: _Connection) -> None:
        """Record why no samples arrive, and close a dead connection."""
        status = connection.ended()
        age = time.monotonic() - connection.arrived
        if status is None and age < DEAD_SECONDS + self._interval:
            if connection.refusal and not self._sequence:
                self._trouble = connection.refusal
            elif age > OLD_SECONDS + 2 * self._interval and self._sequence:
                self._trouble = (
                    connection.refusal or f'no samples for {format_duration(round(age))}'
                )
            return
        reason = connection.refusal or (
            f'no samples for {format_duration(round(age))}'
            if status is None
            else explain(self._host, status, list(connection.lines))
        )
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        self._retry_at = time.monotonic() + pause
        self._trouble = reason if not self._sequence else reason.partition('\n')[0]
        connection.close()
        self._connection = None

    def _placed(self, sample: Sample, arrived: float) -> Sample:
        """Return a sample with the next number, on our monotonic clock."""
        offset = arrived - sample.monotonic
        # Network delays vary; a restart of the machine changes the offset by more.
        if self._offset is None or abs(offset - self._offset) > DEAD_SECONDS:
            self._offset = offset
        self._sequence += 1
        return sample._replace(
            sequence=self._sequence,
            monotonic=sample.monotonic + self._offset,
            processes_monotonic=sample.processes_monotonic + self._offset,
        )
