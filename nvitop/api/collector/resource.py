# SPDX-License-Identifier: Apache-2.0
"""ResourceMetricCollector: what host, devices and processes use, as means over time."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, ClassVar

from nvitop.api.collector.reading import LOGGER, Reader
from nvitop.api.collector.snapshots import unique
from nvitop.api.collector.statistics import Sample, TagBuffer
from nvitop.api.collector.threads import CollectThread, SamplingThread
from nvitop.api.device import Device
from nvitop.api.metrics import METRICS, PROCESS_METRICS
from nvitop.api.utils import MiB
from nvitop.platforms.kernel import at_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nvitop.api.collector.snapshots import SnapshotResult

#: Who asks for metrics waits at least this many seconds for a driver that does not answer.
_PATIENCE_SECONDS = 2.0

#: Units that are logged differently: unit of the table → unit, divisor.
_UNITS = {'B': ('MiB', MiB), '°C': ('C', 1), 's': ('min', 60)}


def _named(name: str, unit: str, divisor: float = 1) -> tuple[str, float]:
    """Return the name of a metric with its unit, and the divisor of raw values."""
    unit, divisor = _UNITS.get(unit, (unit, divisor))
    return f'{name} ({unit})', float(divisor)


class ResourceMetricCollector:
    """Collects what host, devices and processes use, in the background, as statistics over time.

    Between :meth:`activate` and :meth:`deactivate` of a tag, samples are taken every ``interval``
    seconds; :meth:`collect` gives their mean, minimum, maximum and last value under names like
    ``'train/gpu:0/gpu_utilization (%)/mean'``, as numbers, ready for a logger. Tags nest: what is
    measured inside of ``'train/epoch'`` counts for ``'train'`` as well.

    >>> collector = ResourceMetricCollector(Device.cuda.all(), interval=2.0)
    >>> with collector(tag='train'):
    ...     for epoch in range(10):
    ...         with collector(tag='epoch'):
    ...             train_one_epoch()
    ...             logger.log(collector.collect())   # 'train/epoch/…'

    Means are integrals over time, so samples need not be evenly spaced. What is not known is NaN: it
    takes no part in a mean, and where it never was known, the metric itself is NaN. A device or a
    process that is gone keeps the values it had, and the rest goes on.

    The driver is asked for nothing but what :attr:`DEVICE_METRICS` and :attr:`PROCESS_METRICS` name;
    what changes seldom (fan speed, power limit) is asked every 5 seconds at most. Without a driver
    there are no devices, and the metrics are those of the host.

    Args:
        devices: The devices, or one device. GPUs include their MIG devices; what there is when the
            collector is made counts. Without: all GPUs.
        root_pids: Processes to log, with all their descendants, as far as they use the devices;
            without: this program. ``{1}`` means every process on the devices, an empty set none.
        interval: Seconds between samples.
        clock: What tells the time, in seconds; for tests.

    Raises:
        ValueError: The interval is not a positive number, or a PID is negative.
        TypeError: What is given as a device or a PID is none.
    """

    #: What is logged of devices: attribute, name, divisor. A subclass may log something else.
    DEVICE_METRICS: ClassVar[Sequence[tuple[str, str, float]]] = [
        (metric.method, *_named(metric.name, metric.unit, metric.divisor))
        for metric in METRICS
        if metric.collector
    ]
    #: What is logged of processes: attribute, scope, name, divisor. The scope ``None`` is the device.
    PROCESS_METRICS: ClassVar[Sequence[tuple[str, str | None, str, float]]] = [
        (
            metric.collector,
            None if metric.name.startswith('gpu_') else 'host',
            *_named(metric.collector.replace('_in_seconds', ''), metric.unit),
        )
        for metric in PROCESS_METRICS
        if metric.collector
    ]

    def __init__(
        self,
        devices: Device | Iterable[Device] | None = None,
        root_pids: int | Iterable[int] | None = None,
        interval: float = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """See the class."""
        #: Seconds between samples.
        self.interval = checked_interval(interval)
        #: The devices asked for.
        self.devices = _checked_devices(devices)
        #: These and their MIG devices.
        self.all_devices = unique(
            device for gpu in self.devices for device in (gpu, *gpu.to_leaf_devices())
        )
        #: Those on which processes run.
        self.leaf_devices = unique(
            leaf for device in self.devices for leaf in device.to_leaf_devices()
        )
        #: The processes that are logged, with their descendants.
        self.root_pids = _checked_pids(root_pids)
        self._clock = clock
        self._reader = Reader(
            self.all_devices, self.leaf_devices, self.root_pids, self.interval, clock
        )
        #: Active tags, the innermost last.
        self._stack: list[TagBuffer] = []
        self._last: Sample | None = None
        #: How often the driver was asked, and the number at which it fell silent.
        self._rounds = 0
        self._silent_since = -1
        self._reported: set[object] = set()
        self._be_alone()
        _collectors.add(self)

    def _be_alone(self) -> None:
        """Have no threads: at first, and in a forked child."""
        self._thread: SamplingThread | None = None
        #: Held while the driver is asked.
        self._reading = threading.Lock()
        #: Held while tags and what is known under them change.
        self._changed = threading.Condition()
        #: Tags of threads, which nest in none.
        self._background: list[TagBuffer] = []

    # tags

    def activate(self, tag: str) -> ResourceMetricCollector:
        """Begin to collect under a tag, inside of the tag activated before, if one is active.

        Raises:
            RuntimeError: The tag is active already.
        """
        self._activate(tag, is_background=False)
        return self

    start = activate

    def deactivate(self, tag: str | None = None) -> ResourceMetricCollector:
        """Stop collecting under a tag and all tags inside of it; without a tag, the innermost.

        What was collected under them is forgotten. A thread of :meth:`daemonize` ends with its tag.

        Raises:
            RuntimeError: The tag is not active.
        """
        with self._changed:
            buffer = self._find(tag) if tag is not None or self._has_tags() else None
            if buffer is not None:
                self._end(buffer)
        return self

    stop = deactivate

    @contextlib.contextmanager
    def context(self, tag: str) -> Iterator[ResourceMetricCollector]:
        """Collect under a tag for the time of a ``with`` block; calling the collector is the same.

        Raises:
            RuntimeError: The tag is active already.
        """
        buffer = self._activate(tag, is_background=False)
        try:
            yield self
        finally:
            self._end(buffer)

    __call__ = context

    def clear(self, tag: str | None = None) -> None:
        """Forget what was collected under a tag and all tags inside of it, and go on.

        Without a tag, the innermost.

        Raises:
            RuntimeError: The tag is not active.
        """
        with self._changed:
            if tag is None and not self._has_tags():
                return
            now = self._clock()
            for buffer in self._with_inner(self._find(tag)):
                buffer.clear(now)
                self._seed(buffer)

    reset = clear

    # metrics

    def collect(self) -> dict[str, float]:
        """The metrics of the innermost tag since it was activated or cleared.

        A sample is taken where the last one is older than half the interval. A driver that does not
        answer is waited for 2 seconds, or for the interval if that is longer; then the metrics are
        those of before.

        Raises:
            RuntimeError: No tag is active.
        """
        return self._collect(self._find(None))

    def daemonize(
        self,
        on_collect: Callable[[dict[str, float]], bool],
        interval: float | None = None,
        *,
        on_start: Callable[[ResourceMetricCollector], None] | None = None,
        on_stop: Callable[[ResourceMetricCollector], None] | None = None,
        tag: str = 'metrics-daemon',
        start: bool = True,
    ) -> CollectThread:
        """Have a thread hand the metrics on, see :func:`collect_in_background`."""
        return collect_in_background(
            on_collect, self, interval, on_start=on_start, on_stop=on_stop, tag=tag, start=start
        )

    def take_snapshots(self) -> SnapshotResult:
        """Take a sample now: it counts for all active tags.

        The snapshots of devices and processes hold what is logged; other attributes are asked when
        they are used. This asks the driver in the calling thread.
        """
        with self._reading:
            return self._sample()

    # for the threads

    def _tick(self, *, is_wanted: bool) -> float | None:
        """Take a sample if it is time; the seconds until the next one, ``None``: none is needed."""
        # The lock first: a sample that somebody else takes meanwhile need not be taken again.
        with self._reading:
            with self._changed:
                if not self._has_tags():
                    return None
                wait = self.interval - self._age()
                if wait > 0 and not (is_wanted and self._is_stale()):
                    return wait
            try:
                self._sample()
            except Exception as error:
                with self._changed:
                    self._rounds += 1
                    self._changed.notify_all()
                if type(error) not in self._reported:
                    self._reported.add(type(error))
                    LOGGER.exception('Cannot take a sample.')
                return self.interval
        return max(0.0, self.interval - self._age())

    def _sample(self) -> SnapshotResult:
        """Ask the driver, with the lock of reading held."""
        reading = self._reader.read(self.DEVICE_METRICS, self.PROCESS_METRICS)
        with self._changed:
            self._last = reading.sample
            for buffer in (*self._stack, *self._background):
                buffer.add(reading.sample)
            self._rounds += 1
            self._changed.notify_all()
        return reading.snapshots

    def _collect(self, buffer: TagBuffer) -> dict[str, float]:
        with self._changed:
            is_needed = self._is_stale() or buffer.is_empty
            is_alone = is_needed and not self._wait_for_sample()
        if is_alone:
            self._tick(is_wanted=True)
        with self._changed:
            return buffer.metrics(self._clock(), time.time())

    def _ends_within(self, buffer: TagBuffer, seconds: float) -> bool:
        """Wait, but only as long as the tag is active; whether it is not any more."""
        with self._changed:
            return self._changed.wait_for(lambda: buffer not in self._background, max(0.0, seconds))

    def _activate(self, tag: str, *, is_background: bool) -> TagBuffer:
        if not isinstance(tag, str):
            raise TypeError(f'a tag is a text, not {tag!r}')
        with self._changed:
            if any(buffer.tag == tag for buffer in (*self._stack, *self._background)):
                raise RuntimeError(f'the tag {tag!r} is active already')
            others = self._background if is_background else self._stack
            parent = self._stack[-1] if self._stack and not is_background else None
            buffer = TagBuffer(tag, parent, self._clock())
            others.append(buffer)
            self._seed(buffer)
            self._wake(sample=buffer.is_empty)
        return buffer

    def _end(self, buffer: TagBuffer) -> None:
        with self._changed:
            for ended in self._with_inner(buffer):
                (self._stack if ended in self._stack else self._background).remove(ended)
            self._changed.notify_all()

    # with the lock held

    def _has_tags(self) -> bool:
        return bool(self._stack or self._background)

    def _find(self, tag: str | None) -> TagBuffer:
        buffers = (*self._background, *self._stack)
        for buffer in reversed(buffers):
            if tag is None or buffer.tag == tag:
                return buffer
        if tag is None:
            raise RuntimeError('no tag is active: activate one first')
        raise RuntimeError(f'the tag {tag!r} is not active')

    def _with_inner(self, buffer: TagBuffer) -> list[TagBuffer]:
        """A buffer and those inside of it; none if it is not active any more."""
        if buffer in self._stack:
            return self._stack[self._stack.index(buffer) :]
        return [buffer] if buffer in self._background else []

    def _age(self) -> float:
        return math.inf if self._last is None else self._clock() - self._last.time

    def _is_stale(self) -> bool:
        return self._age() > self.interval / 2

    def _seed(self, buffer: TagBuffer) -> None:
        """Begin with the last sample where it is fresh enough to be true now."""
        if self._last is not None and not self._is_stale():
            buffer.add(self._last)

    def _wake(self, *, sample: bool) -> bool:
        """Have the thread take a sample, or look at the time; whether a thread is to be had."""
        if self._thread is None or not self._thread.thread.is_alive():
            try:
                self._thread = SamplingThread(self)
            except RuntimeError as error:
                if 'thread' not in self._reported:
                    self._reported.add('thread')
                    LOGGER.warning('%s: samples are taken only when they are asked for.', error)
                return False
        self._thread.wake(sample=sample)
        return True

    def _wait_for_sample(self) -> bool:
        """Have a sample taken, and wait for it; whether there is a thread that does."""
        rounds = self._rounds
        if self._silent_since == rounds:
            return True
        if not self._wake(sample=True):
            return False
        patience = max(_PATIENCE_SECONDS, self.interval)
        remaining = patience
        while self._rounds == rounds and remaining > 0.0:
            # No wait counts for more than was asked for: while this program itself stands still
            # (Ctrl-Z, a machine that is paused), the driver is not silent.
            began, seconds = time.perf_counter(), min(remaining, patience / 10)
            self._changed.wait(seconds)
            remaining -= min(time.perf_counter() - began, seconds)
        if self._rounds == rounds:
            # Who waited once does not wait again before the driver has answered.
            self._silent_since = rounds
            if 'silence' not in self._reported:
                self._reported.add('silence')
                LOGGER.warning('No sample for %g s: the driver does not answer.', patience)
        return True


def collect_in_background(
    on_collect: Callable[[dict[str, float]], bool],
    collector: ResourceMetricCollector | None = None,
    interval: float | None = None,
    *,
    on_start: Callable[[ResourceMetricCollector], None] | None = None,
    on_stop: Callable[[ResourceMetricCollector], None] | None = None,
    tag: str = 'metrics-daemon',
    start: bool = True,
) -> CollectThread:
    """Have a daemon thread hand metrics to a function, at once and then every ``interval`` seconds.

    The thread collects under a tag of its own, which nests in no other. It ends when ``on_collect``
    returns false and when its tag is deactivated. An exception of a function is logged once, with
    its traceback, and collecting goes on.

    >>> thread = collect_in_background(lambda metrics: logger.log(metrics) or True, interval=5.0)
    >>> thread.collector.deactivate('metrics-daemon')   # ends it

    Args:
        on_collect: What gets the metrics; it returns whether to go on.
        collector: The collector; without, one of all GPUs and this program.
        interval: Seconds between two calls; without, the collector's interval.
        on_start: Called in the thread with the collector, before the first call.
        on_stop: Called in the thread with the collector, after the last call.
        tag: The tag to collect under, which is the name of the thread, too.
        start: Whether to start the thread; otherwise ``start()`` it later.

    Returns:
        The thread. Its attribute ``collector`` is the collector.

    Raises:
        ValueError: The interval is not a positive number.
        RuntimeError: The tag is active already.
    """
    if interval is not None:
        interval = checked_interval(interval)
    if collector is None:
        collector = ResourceMetricCollector(interval=1.0 if interval is None else interval)
    thread = CollectThread(
        collector, on_collect, interval or collector.interval, on_start, on_stop, tag
    )
    if start:
        thread.start()
    return thread


def checked_interval(interval: object) -> float:
    """The interval as a number of seconds.

    Raises:
        ValueError: It is not a positive number.
    """
    if not isinstance(interval, (int, float)) or not 0.0 < interval < math.inf:
        raise ValueError(f'the interval is a positive number of seconds, not {interval!r}')
    return float(interval)


def _checked_devices(devices: Device | Iterable[Device] | None) -> list[Device]:
    if devices is None:
        return Device.all()
    found = [devices] if isinstance(devices, Device) else list(devices)
    for device in found:
        if not isinstance(device, Device):
            raise TypeError(f'not a device: {device!r}')
    return found


def _checked_pids(pids: int | Iterable[int] | None) -> set[int]:
    if pids is None:
        return {os.getpid()}
    found = {pids} if isinstance(pids, int) else set(pids)
    for pid in found:
        if not isinstance(pid, int):
            raise TypeError(f'not a PID: {pid!r}')
        if pid < 0:
            raise ValueError(f'not a PID: {pid}')
    return found


#: All collectors, and those whose readings wait for a fork.
_collectors: weakref.WeakSet[ResourceMetricCollector] = weakref.WeakSet()
_waiting: list[ResourceMetricCollector] = []


def _before_fork() -> None:
    # A child must not find the locks of devices held by a thread that it does not have.
    _waiting.extend(c for c in _collectors if c._reading.acquire(timeout=_PATIENCE_SECONDS))


def _after_fork_in_parent() -> None:
    while _waiting:
        _waiting.pop()._reading.release()


def _after_fork_in_child() -> None:
    _waiting.clear()
    for collector in _collectors:
        collector._be_alone()


at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)

# Where users find them is where they say they are, in reprs, pickles and documents.
for _public in (ResourceMetricCollector, collect_in_background):
    _public.__module__ = 'nvitop.api.collector'
del _public
