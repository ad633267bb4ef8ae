# SPDX-License-Identifier: Apache-2.0
"""ResourceMetricCollector: resource usage over time. One thread takes samples, others deliver metrics."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import threading
import time
import weakref
from typing import Callable, ClassVar, Generic, Iterable, Iterator, Sequence, TypeVar

from nvitop.api.device import Device
from nvitop.api.snapshots import SnapshotResult, unique
from nvitop.basics.metrics import METRICS, PROCESS_METRICS, Metric, ProcessMetric
from nvitop.basics.units import MiB
from nvitop.collector.reader import LOGGER, CollectionReader
from nvitop.collector.tags import STATISTICS, TagBuffer, Tags
from nvitop.platforms.kernel import at_fork

C = TypeVar('C')

#: Maximum length (seconds) of one wait: platforms differ in how long a wait can be.
_LONGEST_WAIT_SECONDS = 3600.0


class SamplingThread:
    """A thread that takes samples, is started on use, and ends with its collector.

    ``tick`` is the method of the collector that takes a sample if one is due, and returns the seconds
    until the next one, or ``None`` if none is needed. The thread holds the collector only during a
    tick, so that an unused collector is freed as usual.
    """

    def __init__(self, collector: object, tick: Callable[[bool], float | None]) -> None:
        self._tick = weakref.WeakMethod(tick)
        self._is_reported = False
        self.forget()
        ending = weakref.finalize(collector, self.end)
        ending.atexit = False  # a daemon thread ends with the process

    def forget(self) -> None:
        """Forget the thread, at first and in a forked child."""
        self._thread: threading.Thread | None = None
        # Its put() may be called from anywhere, even during garbage collection.
        self._messages: queue.SimpleQueue[bool | None] = queue.SimpleQueue()

    def end(self) -> None:
        self._messages.put(None)

    def wake(self, is_needed: bool) -> None:
        """Take a sample at once if one is needed, or check the time; start the thread if necessary."""
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name='nvitop-collector', daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads
                if not self._is_reported:
                    self._is_reported = True
                    LOGGER.warning('%s: samples are taken only by collect()', error)
                return
            self._thread = thread
        self._messages.put(is_needed)

    def _run(self) -> None:
        messages, wait = self._messages, None
        while True:
            try:
                is_needed = messages.get(timeout=wait)
            except queue.Empty:
                is_needed = False
            tick = None if is_needed is None else self._tick()
            if tick is None:
                return
            wait = tick(bool(is_needed))
            if wait is not None:
                wait = min(wait, _LONGEST_WAIT_SECONDS)
            del tick


class CollectThread(threading.Thread, Generic[C]):
    """A daemon thread that passes the metrics of a collector to a function at intervals.

    It ends when the function returns false or cannot write to a closed pipe, when its tag is
    deactivated (``thread.collector.deactivate(thread.name)``), and with the process.
    """

    def __init__(
        self,
        collector: C,
        tags: Tags,
        collect: Callable[[TagBuffer], dict[str, float]],
        on_collect: Callable[[dict[str, float]], bool],
        interval: float,
        on_start: Callable[[C], None] | None,
        on_stop: Callable[[C], None] | None,
        tag: str,
    ) -> None:
        super().__init__(name=tag, daemon=True)
        #: The collector.
        self.collector = collector
        self._tags = tags
        self._collect = collect
        self._on_collect = on_collect
        self._interval = interval
        self._on_start = on_start
        self._on_stop = on_stop
        self._tag = tag
        self._failures: set[type[Exception]] = set()

    def start(self) -> None:
        """Activate the tag and start.

        Raises:
            RuntimeError: The thread was started before, or its tag is already active.
        """
        is_new = self.ident is None
        if is_new:
            self._buffer = self._tags.activate(self._tag, is_background=True)
        try:
            super().start()
        except RuntimeError:  # no more threads
            if is_new:
                self._tags.end(self._buffer)
            raise

    def run(self) -> None:
        due = self._tags.clock()
        try:
            if self._on_start is not None:
                self._guarded(self._on_start, self.collector)
            while self._guarded(self._on_collect, self._collect(self._buffer)):
                # Based on the start, so that the time of the function does not add up.
                now = self._tags.clock()
                due += self._interval * (1 + max(0.0, now - due) // self._interval)
                if self._tags.ends_within(self._buffer, due - now):
                    break
        finally:
            self._tags.end(self._buffer)
            if self._on_stop is not None:
                self._guarded(self._on_stop, self.collector)

    def _guarded(self, function: Callable[..., object], argument: object) -> bool:
        """Call a function of the user. An exception is logged once per type, and counts as true."""
        try:
            return bool(function(argument))
        except BrokenPipeError:  # who read the output is gone, as in `| head`
            LOGGER.warning('%r ends: its output is closed', self._tag)
            return False
        except Exception as error:
            if type(error) not in self._failures:
                self._failures.add(type(error))
                name = getattr(function, '__name__', repr(function))
                LOGGER.exception('%s of %r failed; collecting continues', name, self._tag)
            return True


#: Units that are logged differently: unit of the table → unit, divisor.
_UNITS = {'B': ('MiB', MiB), '°C': ('C', 1), 's': ('min', 60)}
#: Metrics in the order of nvitop 1.7. Programs write their values as columns without names.
_ORDER = (
    *('memory_used', 'memory_free', 'memory_total', 'memory_percent', 'gpu_utilization'),
    *('memory_utilization', 'fan_speed', 'temperature', 'power_usage', 'power_limit'),
    *('cpu_percent', 'host_memory', 'host_memory_percent', 'running_time_in_seconds'),
    *('gpu_memory', 'gpu_memory_percent', 'gpu_memory_utilization', 'gpu_sm_utilization'),
)


def _place(metric: Metric | ProcessMetric) -> int:
    """Return the place of a metric among the others; new ones follow those of nvitop 1.7."""
    name = metric.collector if isinstance(metric, ProcessMetric) else metric.method
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _named(name: str, unit: str, divisor: float = 1) -> tuple[str, float]:
    unit, divisor = _UNITS.get(unit, (unit, divisor))
    return f'{name} ({unit})', float(divisor)


def _names(names: Iterable[str]) -> frozenset[str]:
    """Return names as a list; a single name may be given as text."""
    return frozenset([names] if isinstance(names, str) else names)


class ResourceMetricCollector:
    """Collects resource usage of host, devices and processes in the background.

    Between :meth:`activate` and :meth:`deactivate` of a tag, samples are taken every ``interval``
    seconds. :meth:`collect` returns their mean, minimum, maximum and last value as numbers, ready for
    a logger, under names such as ``'train/gpu:0/gpu_utilization (%)/mean'``. Tags nest: what is
    measured inside ``'train/epoch'`` counts for ``'train'``, too.

    >>> collector = ResourceMetricCollector(Device.cuda.all(), interval=2.0)
    >>> with collector(tag='train'):
    ...     for epoch in range(10):
    ...         with collector(tag='epoch'):
    ...             train_one_epoch()
    ...             logger.log(collector.collect())   # 'train/epoch/…'

    Means are integrals over time, so samples need not be evenly spaced. Unknown values are NaN: they
    are left out of means, and a metric that was never known is NaN. A device or process that is gone
    keeps its values, and the others continue. A GPU that hangs is skipped until it responds.

    Only the metrics in ``DEVICE_METRICS`` and ``PROCESS_METRICS`` are queried, and those that
    change slowly (fan speed, power limit) at most every 5 seconds. Without a driver there are no
    devices, and the metrics are those of the host.

    Args:
        devices: One or several devices, by default all GPUs. GPUs include the MIG devices that exist
            when the collector is created.
        root_pids: Processes to log with their descendants, if they use the devices; by default this
            program. ``{1}`` means every process on the devices, an empty set none.
        interval: Seconds between samples.
        clock: Returns the time in seconds; for tests.

    Raises:
        ValueError: The interval is not a positive number, or a PID is negative.
        TypeError: A device or PID has the wrong type.
    """

    #: Device metrics: attribute, name, divisor. Subclasses may log others.
    DEVICE_METRICS: ClassVar[Sequence[tuple[str, str, float]]] = [
        (metric.method, *_named(metric.name, metric.unit, metric.divisor))
        for metric in sorted((m for m in METRICS if m.collector), key=_place)
    ]
    #: Process metrics: attribute, scope (``'host'``, or ``None`` for the device), name, divisor.
    PROCESS_METRICS: ClassVar[Sequence[tuple[str, str | None, str, float]]] = [
        (
            metric.collector,
            None if metric.name.startswith('gpu_') else 'host',
            *_named(metric.collector.replace('_in_seconds', ''), metric.unit),
        )
        for metric in sorted((m for m in PROCESS_METRICS if m.collector), key=_place)
    ]

    def __init__(
        self,
        devices: Device | Iterable[Device] | None = None,
        root_pids: int | Iterable[int] | None = None,
        interval: float = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thread = SamplingThread(self, self._tick)
        self._tags = Tags(clock, checked_interval(interval), self._thread.wake)
        #: The given devices.
        self.devices = _checked_devices(devices)
        #: The given devices and their MIG devices.
        self.all_devices = unique(
            device for gpu in self.devices for device in (gpu, *gpu.to_leaf_devices())
        )
        #: The devices on which processes run.
        self.leaf_devices = unique(
            leaf for device in self.devices for leaf in device.to_leaf_devices()
        )
        #: The processes that are logged with their descendants.
        self.root_pids = _checked_pids(root_pids)
        self._reader = CollectionReader(
            self.all_devices, self.leaf_devices, self.root_pids, self.interval, clock
        )
        self._reported: set[object] = set()
        #: Held during a reading. If the lock of the tags is needed, too, this one is taken first.
        self._reading = threading.Lock()
        _collectors.add(self)

    def _forget_threads(self) -> None:
        """Use no thread and no lock of the parent, in a forked child."""
        self._reading = threading.Lock()
        self._thread.forget()
        self._tags.forget_threads()
        self._reader.forget_threads()

    @property
    def interval(self) -> float:
        """Seconds between samples."""
        return self._tags.interval

    @interval.setter
    def interval(self, interval: float) -> None:
        self._tags.interval = checked_interval(interval)

    # tags

    def activate(self, tag: str) -> ResourceMetricCollector:
        """Start to collect under a tag, inside the innermost active one.

        Raises:
            RuntimeError: The tag is already active.
        """
        self._tags.activate(tag)
        return self

    start = activate

    def deactivate(self, tag: str | None = None) -> ResourceMetricCollector:
        """Stop collecting under a tag (by default the innermost) and all tags inside it.

        What was collected under them is forgotten. A thread of :meth:`daemonize` ends with its tag.

        Raises:
            RuntimeError: The tag is not active.
        """
        with self._tags.changed:
            if tag is not None or not self._tags.is_empty:
                self._tags.end(self._tags.find(tag))
        return self

    stop = deactivate

    @contextlib.contextmanager
    def context(self, tag: str) -> Iterator[ResourceMetricCollector]:
        """Collect under a tag during a ``with`` block; calling the collector does the same.

        Raises:
            RuntimeError: The tag is already active.
        """
        buffer = self._tags.activate(tag)
        try:
            yield self
        finally:
            self._tags.end(buffer)

    __call__ = context

    def clear(self, tag: str | None = None) -> None:
        """Forget what was collected under a tag (by default the innermost) and all tags inside it.

        Raises:
            RuntimeError: The tag is not active.
        """
        with self._tags.changed:
            if tag is not None or not self._tags.is_empty:
                self._tags.clear(self._tags.find(tag))

    reset = clear

    # metrics

    def collect(
        self, *, metrics: Iterable[str] | None = None, stats: Iterable[str] | None = None
    ) -> dict[str, float]:
        """Return the metrics of the innermost tag since it was activated or cleared.

        >>> collector.collect(metrics=['gpu_utilization', 'memory_used'], stats=['mean'])

        A sample is taken first if the last one is older than half the interval. A GPU that does not
        respond within 2 seconds, or the interval if that is longer, is left out until it does.

        Args:
            metrics: Names of metrics without scope and unit, such as ``'gpu_utilization'``; ``None``:
                all. A name that nothing has selects nothing.
            stats: Some of ``'mean'``, ``'min'``, ``'max'`` and ``'last'``; ``None``: all.

        Raises:
            RuntimeError: No tag is active.
            ValueError: A statistic is unknown.
        """
        wanted = None if metrics is None else _names(metrics)
        chosen = None if stats is None else _names(stats)
        if not (chosen or set()) <= set(STATISTICS):
            raise ValueError(f'stats must be some of {", ".join(STATISTICS)}, not {stats!r}')
        return self._collect(self._tags.find(None), wanted, chosen)

    def daemonize(
        self,
        on_collect: Callable[[dict[str, float]], bool],
        interval: float | None = None,
        *,
        on_start: Callable[[ResourceMetricCollector], None] | None = None,
        on_stop: Callable[[ResourceMetricCollector], None] | None = None,
        tag: str = 'metrics-daemon',
        start: bool = True,
    ) -> CollectThread[ResourceMetricCollector]:
        """Pass the metrics to a function at intervals, see :func:`collect_in_background`."""
        return collect_in_background(
            on_collect, self, interval, on_start=on_start, on_stop=on_stop, tag=tag, start=start
        )

    def take_snapshots(self) -> SnapshotResult:
        """Take a sample now, which counts for all active tags.

        The snapshots of devices and processes hold what is logged; other attributes are queried on
        use.
        """
        with self._reading:
            return self._sample()

    def _collect(
        self,
        buffer: TagBuffer,
        wanted: frozenset[str] | None = None,
        stats: frozenset[str] | None = None,
    ) -> dict[str, float]:
        if self._tags.is_stale or buffer.is_empty:
            self._tick(is_needed=True)
            self._thread.wake(False)
        with self._tags.changed:
            return buffer.metrics(self._tags.clock(), time.time(), wanted, stats)

    def _tick(self, is_needed: bool) -> float | None:
        """Take a sample if one is due; return the seconds until the next one, ``None``: never."""
        # The lock first: a sample taken by another thread in the meantime is recent enough.
        with self._reading:
            if self._tags.is_empty:
                return None
            wait = self.interval - self._tags.age
            if wait > 0 and not (is_needed and self._tags.is_stale):
                return wait
            try:
                self._sample()
            except Exception as error:
                if type(error) not in self._reported:
                    self._reported.add(type(error))
                    LOGGER.exception('cannot take a sample')
                return self.interval
        return max(0.0, self.interval - self._tags.age)

    def _sample(self) -> SnapshotResult:
        """Take a sample. The caller holds the lock of reading."""
        snapshots, values = self._reader.read(self.DEVICE_METRICS, self.PROCESS_METRICS)
        self._tags.add(values)
        return snapshots


def collect_in_background(
    on_collect: Callable[[dict[str, float]], bool],
    collector: ResourceMetricCollector | None = None,
    interval: float | None = None,
    *,
    on_start: Callable[[ResourceMetricCollector], None] | None = None,
    on_stop: Callable[[ResourceMetricCollector], None] | None = None,
    tag: str = 'metrics-daemon',
    start: bool = True,
) -> CollectThread[ResourceMetricCollector]:
    """Pass metrics to a function in a daemon thread, at once and then every ``interval`` seconds.

    The thread collects under a tag of its own, which is not nested. It ends when ``on_collect`` returns
    false, and when its tag is deactivated. An exception of a function is logged once with its
    traceback, and collecting continues.

    >>> thread = collect_in_background(lambda metrics: logger.log(metrics) or True, interval=5.0)
    >>> thread.collector.deactivate('metrics-daemon')   # ends it

    Args:
        on_collect: Receives the metrics and returns whether to continue.
        collector: The collector; by default a new one of all GPUs and this program.
        interval: Seconds between two calls; by default the collector's interval.
        on_start: Called in the thread with the collector, before the first call.
        on_stop: Called in the thread with the collector, after the last call.
        tag: The tag, and the name of the thread.
        start: Whether to start the thread; otherwise call its ``start()`` later.

    Returns:
        The thread; its attribute ``collector`` is the collector.

    Raises:
        TypeError: A function cannot be called.
        ValueError: The interval is not a positive number.
        RuntimeError: The tag is already active.
    """
    if interval is not None:
        interval = checked_interval(interval)
    for name, function in (
        ('on_collect', on_collect),
        ('on_start', on_start),
        ('on_stop', on_stop),
    ):
        if not callable(function) and (function is not None or name == 'on_collect'):
            raise TypeError(f'{name} must be a function, not {function!r}')
    if collector is None:
        collector = ResourceMetricCollector(interval=1.0 if interval is None else interval)
    thread = CollectThread(
        collector,
        collector._tags,
        collector._collect,
        on_collect,
        interval or collector.interval,
        on_start,
        on_stop,
        tag,
    )
    if start:
        thread.start()
    return thread


def checked_interval(interval: object) -> float:
    """Return the interval as a float; ValueError if it is not a positive number."""
    if not isinstance(interval, (int, float)) or not 0.0 < interval < math.inf:
        raise ValueError(f'the interval must be a positive number of seconds, not {interval!r}')
    return float(interval)


def _checked_devices(devices: Device | Iterable[Device] | None) -> list[Device]:
    if devices is None:
        return Device.all()
    devices = [devices] if isinstance(devices, Device) else list(devices)
    for device in devices:
        if not isinstance(device, Device):
            raise TypeError(f'not a device: {device!r}')
    return devices


def _checked_pids(pids: int | Iterable[int] | None) -> set[int]:
    if pids is None:
        return {os.getpid()}
    pids = {pids} if isinstance(pids, int) else set(pids)
    for pid in pids:
        if not isinstance(pid, int):
            raise TypeError(f'not a PID: {pid!r}')
        if pid < 0:
            raise ValueError(f'not a PID: {pid}')
    return pids


_collectors: weakref.WeakSet[ResourceMetricCollector] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for collector in _collectors:
        collector._forget_threads()


at_fork(after_in_child=_after_fork_in_child)
