# SPDX-License-Identifier: GPL-3.0-only
"""What each device is doing, who uses it and what is wrong with it; and which devices share a row."""

from __future__ import annotations

from collections import Counter
from typing import Iterable, NamedTuple, Sequence

from nvitop.basics.text import counted
from nvitop.basics.units import GiB, format_duration
from nvitop.gui.model import format as fmt
from nvitop.gui.render.buffer import Item
from nvitop.gui.render.theme import DIM, ERROR, IDLE, PLAIN, WARNING, Style
from nvitop.gui.render.width import safe
from nvitop.health import (
    DeviceState,
    Finding,
    claim_of_unused,
    device_states,
    findings,
    holders,
    importance,
    is_wrong,
    worst_findings,
)
from nvitop.sampling.types import DeviceKey, DeviceSample, ProcessSample, Sample

#: The word of a device that no process uses.
FREE = 'free'
#: Words of a device that processes use.
_BUSY = ('busy', 'in use')
#: Kinds of findings that the temperature shows.
_HEAT = ('hot', 'thermal_slowdown')
#: Time (seconds) since its last use for which a process still counts as using a device.
_RECENT_SECONDS = 60.0


class GpuRow(NamedTuple):
    """A device, what it is doing, and what is wrong with it."""

    device: DeviceSample
    state: DeviceState = DeviceState('unknown')
    #: The profile of a MIG device, or the product name if there are different ones, safe to draw.
    name: str = ''
    #: The most severe finding about the device.
    finding: Finding | None = None
    #: The user with the most memory, safe to draw; the job, pod or container of this memory, or the
    #: command without one; and the other users with their memory.
    user: str = ''
    job: str = ''
    others: tuple[str, ...] = ()
    #: Whether the monitor runs as this user.
    is_user: bool = False
    #: Whether the user has only claimed the device, which is free; ``job`` is for how long.
    is_claimed: bool = False
    #: Words about users who hold its memory without using it, longest first; ``()`` if there are none.
    held_forms: tuple[str, ...] = ()
    #: Whether this is a GPU with MIG devices in the list, which have their own memory and users.
    is_divided: bool = False
    #: Whether this is the last MIG device of its GPU.
    is_last: bool = False
    #: Whether this is a free MIG device, and others of its GPU instance use the memory that they share.
    is_others_memory: bool = False
    #: What is wrong with the device, the most severe first.
    problems: tuple[Finding, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong with the device, or it does not respond."""
        return self.device.is_failing or (self.finding is not None and is_wrong(self.finding))

    @property
    def is_used(self) -> bool:
        """Whether the device is busy or in use."""
        return self.state.word in _BUSY

    @property
    def is_free(self) -> bool:
        """Whether no process uses the device and no user has claimed it."""
        return self.state.word == FREE and not self.is_claimed and not self.is_wrong

    @property
    def word(self) -> str:
        """What the device is doing: ``'free'``, ``'held 1h'``; ``'unknown'``."""
        word, seconds = self.state
        if self.device.is_silent and self.finding is not None:
            return self.finding.mark
        if self.is_claimed:
            return 'claimed'
        return word if seconds is None else f'{word} {fmt.format_idle_time(seconds)}'

    @property
    def word_style(self) -> Style:
        if self.device.is_failing:
            return ERROR
        if self.is_claimed:
            return PLAIN
        styles = {FREE: IDLE, 'held': WARNING, 'asleep': DIM, 'unknown': DIM}
        return styles.get(self.state.word, PLAIN)

    @property
    def mark(self) -> str:
        """A short word for the finding: ``'hot'``; ``''`` if there is none, or the state says it."""
        if self.finding is None or self.finding.mark == self.word:
            return ''
        return self.finding.mark

    @property
    def mark_style(self) -> Style:
        if self.finding is None or not is_wrong(self.finding):
            return ERROR if self.device.is_failing else PLAIN
        return _style_of(self.finding)

    @property
    def heat_style(self) -> Style:
        """The style of the temperature: that of the worst problem with heat, plain without one."""
        styles = (_style_of(each) for each in self.problems if each.kind in _HEAT)
        return next(styles, PLAIN)

    @property
    def problem_forms(self) -> tuple[str, ...]:
        """What is wrong or limits the device, or who holds it, the longest form first.

        The first one has the values that show it: ``'too hot: 91°C · 2 more problems'``.
        """
        if self.finding is None:
            return self.held_forms
        words, count = safe(self.finding.words), len(self.problems) - 1
        whole = safe(self.finding.text) if is_wrong(self.finding) else words
        if count < 1:
            return (whole, words)
        more = f' · {counted(count, "more problem")}'
        return (whole + more, words + more, f'{words} · {count} more', words)

    @property
    def problem_style(self) -> Style:
        if self.finding is None and self.held_forms:
            return WARNING
        return self.mark_style if self.is_wrong else DIM

    @property
    def who(self) -> str:
        """The user with the most memory, and the number of other users: ``'ann +1'``."""
        return self.user + (f' +{len(self.others)}' if self.others else '')

    @property
    def advice(self) -> str:
        """What to do about the problem, safe to draw; ``''`` if there is nothing to do."""
        return '' if self.finding is None else safe(self.finding.action)

    @property
    def troubles(self) -> tuple[tuple[str, str, Style], ...]:
        """Each problem and what to do about it; without one, who holds its memory."""
        if not self.problems:
            return tuple((form, '', WARNING) for form in self.held_forms[:1])
        return tuple(
            (safe(each.text), safe(each.action), _style_of(each)) for each in self.problems
        )


def _style_of(finding: Finding) -> Style:
    return {'critical': ERROR, 'warning': WARNING}.get(finding.severity, PLAIN)


def device_rows(sample: Sample, known: Iterable[Finding] | None = None) -> tuple[GpuRow, ...]:
    """Return the rows of all devices of a sample; ``known`` are its findings, if they are known."""
    known = tuple(findings(sample) if known is None else known)
    worst = worst_findings(known)
    problems = sorted(filter(is_wrong, known), key=importance)
    states = device_states(sample)
    busy = {key for key, state in states.items() if state.word == 'busy'}
    users = _users_by_device(sample, busy)
    divided = {device.key.physical_index for device in sample.devices if device.key.is_mig}
    last = {device.key.physical_index: device.key for device in sample.devices}
    instances = [_instance(device) for device in sample.devices]
    models = {device.info.name for device in sample.devices if not device.key.is_mig} - {None}
    rows = []
    for device in sample.devices:
        key = device.key
        name = device.info.mig_profile if key.is_mig else device.info.name
        row = GpuRow(
            device,
            states[key],
            safe(name or '') if key.is_mig or len(models) > 1 else '',
            worst.get(key),
            is_divided=not key.is_mig and key.physical_index in divided,
            is_last=last[key.physical_index] == key,
            is_others_memory=states[key].word == FREE
            and key.is_mig
            and device.info.gpu_instance_id is not None
            and instances.count(_instance(device)) > 1,
            problems=tuple(finding for finding in problems if finding.device == key),
        )
        if key in users:
            row = _with_user(row, users[key], sample)
        claim = claim_of_unused(sample, device, row.state)
        if claim is not None:
            row = row._replace(
                user=safe(claim.username),
                job=f'for {fmt.format_idle_time(max(0.0, sample.timestamp - claim.since))}',
                is_user=is_user(sample, claim.username),
                is_claimed=True,
            )
        if row.state.word == 'held':
            row = row._replace(held_forms=_held_forms(sample, row))
        rows.append(row)
    return tuple(rows)


def is_user(sample: Sample, name: str | None) -> bool:
    """Whether the monitor runs as the user with this name."""
    return bool(name) and name == sample.host.username


def _instance(device: DeviceSample) -> tuple[int, int | None]:
    return device.key.physical_index, device.info.gpu_instance_id


def _users_by_device(sample: Sample, busy: set[DeviceKey]) -> dict[DeviceKey, list[ProcessSample]]:
    """Return the processes that use each device; those of a MIG device also use its GPU.

    Graphics processes count only on ``busy`` devices on which no process computes: every desktop
    has some, even on a free GPU.
    """
    gpus = {d.key.physical_index: d.key for d in sample.devices if not d.key.is_mig}
    computing = {process.key.device for process in sample.processes if process.type != 'G'}
    computing |= {gpus.get(key.physical_index, key) for key in computing}
    users: dict[DeviceKey, list[ProcessSample]] = {}
    for process in sample.processes:
        device = process.key.device
        if process.type != 'G' or (device in busy and device not in computing):
            for key in {device, gpus.get(device.physical_index, device)}:
                users.setdefault(key, []).append(process)
    return users


def _with_user(row: GpuRow, processes: Sequence[ProcessSample], sample: Sample) -> GpuRow:
    """Return the row with the user that has the most memory, the job of this memory, and the others."""
    sums: Counter[str] = Counter()
    for process in processes:
        sums[process.username or ''] += process.gpu_memory_bytes or 0
    name, *others = sorted(sums, key=lambda user: (not user, -sums[user]))
    largest = max(
        (process for process in processes if (process.username or '') == name),
        key=lambda process: process.gpu_memory_bytes or 0,
    )
    if largest.owner is None or largest.owner.is_plain:
        command = fmt.format_command(largest.command, largest.status, name=largest.name)
        job = fmt.brief_command(command, 0)
    else:
        job = safe(largest.owner.group)
    return row._replace(
        user=fmt.format_user(name),
        job=job,
        others=tuple(
            f'{fmt.format_user(other)} {fmt.format_gib_count(sums[other])} GiB' for other in others
        ),
        is_user=is_user(sample, name),
    )


def _held_forms(sample: Sample, row: GpuRow) -> tuple[str, ...]:
    """Return whose memory is not used for how long, and whether another process uses the device."""
    held = holders(sample, row.device.key)
    if not held:
        return ()
    name = held[0].username
    size = sum(process.gpu_memory_bytes or 0 for process in held if process.username == name) / GiB
    seconds = row.state.held_seconds
    time = '' if seconds is None else f' for {fmt.format_idle_time(seconds)}'
    words = f'{size:.1f} GiB of {fmt.format_user(name)} not used{time}'
    is_used = any(
        not process.is_idle_longer and process.gpu_idle_seconds < _RECENT_SECONDS
        for process in sample.processes
        if process.key.device == row.device.key and process.gpu_idle_seconds is not None
    )
    whole = (f'{words}; another process uses the GPU',) if is_used else ()
    return (*whole, words, f'{size:.1f} GiB not used{time}')


def first_line_items(rows: Sequence[GpuRow]) -> tuple[Item, ...]:
    """Return which devices are free, who holds or uses the others, and what is wrong.

    A GPU that is divided into MIG devices does not count itself.
    """
    leaves = [row for row in rows if not row.is_divided]
    free = [row for row in leaves if row.is_free]
    items = []
    if free:
        items.append(Item((f'{len(free)} free: GPU {_labels(free)}', f'{len(free)} free'), IDLE, 0))
    elif leaves and all(
        row.is_used or row.state.word == 'held' or row.is_claimed for row in leaves
    ):
        items.append(Item(('no GPU free', '0 free'), DIM, 4))
    used = [row for row in leaves if not row.is_claimed]
    items += _by_user([row for row in used if row.state.word == 'held'], 'held', 2, WARNING)
    items += _by_user([row for row in leaves if row.is_claimed], 'claimed', 4)
    for word in _BUSY:
        items += _by_user([row for row in used if row.state.word == word], word, 3)
    asleep = [row for row in used if row.state.word == 'asleep']
    if asleep:
        count = f'{len(asleep)} asleep'
        items.append(Item((f'{count}: GPU {_labels(asleep)}', count), DIM, 4))
    unknown = [row for row in used if row.state.word == 'unknown']
    if unknown:
        items.append(Item((f'{len(unknown)} unknown',), DIM, 4))
    return (*items, *_problem(rows))


def _by_user(rows: Sequence[GpuRow], word: str, rank: int, style: Style = PLAIN) -> list[Item]:
    """Return the number of devices, and those of each user: ``6 busy: ann 0-3, bob 4 5``.

    Held ones have a time, so that their labels follow ``GPU``: ``1 held: GPU 7 eve 1h``.
    """
    if not rows:
        return []
    groups: dict[tuple[str, str], list[GpuRow]] = {}
    for row in sorted(rows, key=lambda row: not row.user):
        groups.setdefault((row.user or fmt.UNKNOWN_USER, row.word[len(word) :]), []).append(row)
    who = (
        f'GPU {_labels(user_rows)} {user}{since}'
        if since
        else f'{user} {_labels(user_rows).replace(",", " ")}'
        for (user, since), user_rows in groups.items()
    )
    users = list(dict.fromkeys(user for user, _ in groups))
    count = f'{len(rows)} {word}'
    some = (f'{", ".join(users[:end])} ..' for end in range(len(users) - 1, 0, -1))
    names = (', '.join(who), ', '.join(users), *some)
    forms = (*(f'{count}: {name}' for name in names), count)
    return [Item(forms, style, rank)]


def _problem(rows: Sequence[GpuRow]) -> list[Item]:
    """Return what is wrong: the problem of a single device, or the number of devices with one."""
    worst: dict[int, GpuRow] = {}
    for row in rows:
        if row.is_wrong:
            worst.setdefault(row.device.key.physical_index, row)
    if not worst:
        return []
    wrong = sorted(worst.values(), key=lambda row: (ERROR, WARNING, PLAIN).index(row.mark_style))
    texts = []
    for row in wrong:
        finding = row.finding
        words = safe(finding.words) if finding and is_wrong(finding) else row.device.status
        texts.append(f'GPU {row.device.key.label} {words}')
    forms: tuple[str, ...]
    if len(wrong) == 1:
        mark = wrong[0].mark or wrong[0].word
        forms = (f'! {texts[0]}', f'! GPU {wrong[0].device.key.label} {mark}')
    else:
        forms = (
            f'! {", ".join(texts)}',
            f'! {len(wrong)} GPUs have problems, {texts[0]}',
            f'! {len(wrong)} GPUs have problems',
            f'! {len(wrong)} GPUs',
        )
    return [Item(forms, wrong[0].mark_style, 1, '!')]


def _labels(rows: Iterable[GpuRow]) -> str:
    return fmt.join_labels(row.device.key.label for row in rows)


class Folded(NamedTuple):
    """Which devices have rows of their own, and which free ones share the last row."""

    rows: tuple[GpuRow, ...]
    free: tuple[GpuRow, ...] = ()


def fold_free(rows: Sequence[GpuRow]) -> Folded:
    """Let free devices share the last row, which stays on the screen."""
    free = tuple(row for row in rows if row.is_free and not row.is_divided)
    return Folded(tuple(row for row in rows if row not in free), free)


def why_silent(device: DeviceSample) -> str:
    """Return why a device has no values, safe to draw; ``''`` if its status says it."""
    if device.sleep is not None:
        state, seconds, _ = device.sleep
        time = '' if seconds is None else f'for {format_duration(seconds)}'
        return ' '.join(filter(None, (safe(state) and f'({safe(state)})', time)))
    if device.reason in ('', device.status, f'GPU is {device.status}'):
        return ''
    reason = safe(device.reason)
    return f'{device.status}: {reason}' if device.status == 'not permitted' else reason


def model_text(rows: Sequence[GpuRow]) -> str:
    """Return the number of GPUs, and their model if all have the same one."""
    gpus = [row.device for row in rows if not row.device.key.is_mig] or [row.device for row in rows]
    names = {fmt.product_name(gpu.info.name) for gpu in gpus if gpu.info.name is not None}
    count = counted(len(gpus), 'GPU')
    if len(names) != 1:
        return count if gpus else 'GPUs'
    (name,) = names
    return name if len(gpus) == 1 else f'{len(gpus)} × {name}'


def is_on(device: DeviceKey, selected: DeviceKey) -> bool:
    """Whether a device is the selected one, or a MIG device on it."""
    return device == selected or (
        not selected.is_mig and device.physical_index == selected.physical_index
    )


def whole_devices(devices: Iterable[DeviceSample]) -> tuple[DeviceSample, ...]:
    """Return the devices that are not part of another one: MIG devices only if their GPU is missing."""
    devices = tuple(devices)
    gpus = {device.key.physical_index for device in devices if not device.key.is_mig}
    return tuple(
        device
        for device in devices
        if not device.key.is_mig or device.key.physical_index not in gpus
    )


def devices_without_list(sample: Sample) -> list[DeviceKey]:
    """Return the devices that respond but do not report their processes."""
    silent = {problem.device for problem in sample.problems if problem.hides_processes}
    devices = sample.devices if silent else ()
    return [device.key for device in devices if device.status == 'ok' and device.key in silent]


def unknown_devices(sample: Sample) -> list[DeviceKey]:
    """Return the GPUs and MIG devices that do not report their processes, or do not respond."""
    silent = whole_devices(device for device in sample.devices if device.is_silent)
    return [*(device.key for device in silent), *devices_without_list(sample)]


def unknown_among(devices: Iterable[DeviceKey], sample: Sample) -> list[DeviceKey]:
    """Return the unknown devices that are among these devices or contain one of them."""
    devices = tuple(devices)
    return [key for key in unknown_devices(sample) if any(is_on(device, key) for device in devices)]
