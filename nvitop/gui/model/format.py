# SPDX-License-Identifier: GPL-3.0-only
"""Format values for people: ``None`` and NaN become ``N/A``, and text from outside becomes safe."""

from __future__ import annotations

import re
import time
from typing import Iterable, Sequence

from nvitop.basics.text import NO_BREAK, with_whole_commands
from nvitop.basics.units import GiB, bytes2human, format_duration, utilization2string
from nvitop.gui.render.width import cell_width, clip, safe, wrap
from nvitop.sampling.types import DeviceKey

NOT_AVAILABLE = 'N/A'
#: Name of a user who is not known.
UNKNOWN_USER = 'unknown'

_DAYS = ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')
_MONTHS = ('Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec')
#: The shortest idle time that is shown: pauses between two steps are usual.
_IDLE_SECONDS = 10
_MAKER = 'NVIDIA '
#: Before the rest of an advice, such as the command for it.
_PART_END = re.compile(r'(?<=[.;:]) ')
#: The year 3000, in seconds since the epoch: some systems cannot format later times.
_LATEST_SECONDS = 32_503_680_000


def _is_missing(value: float | None) -> bool:
    return value is None or value != value


# Amounts ------------------------------------------------------------------------------------------


def format_bytes(size_bytes: float | None) -> str:
    """Format bytes in binary units, in at most 8 characters below 1000 PiB: ``31.08GiB``."""
    return NOT_AVAILABLE if size_bytes is None else bytes2human(size_bytes)


def format_gib_count(size_bytes: float | None) -> str:
    """Format bytes for a column with GiB in its heading: ``68.5``, ``<0.1``."""
    if size_bytes is None or _is_missing(size_bytes):
        return NOT_AVAILABLE
    return '<0.1' if 0 < size_bytes < 0.05 * GiB else f'{size_bytes / GiB:.1f}'


def format_gib(size_bytes: float | None) -> str:
    """Format bytes in GiB, with tenths below 1000 of them: ``68.5 GiB``."""
    if size_bytes is None or _is_missing(size_bytes):
        return NOT_AVAILABLE
    if size_bytes >= 1000 * GiB:
        return f'{size_bytes / GiB:.0f} GiB'
    return f'{format_gib_count(size_bytes)} GiB'


def format_part(used_bytes: float | None, total_bytes: float | None) -> str:
    """Format used and all bytes in one unit: ``331/2048 GiB``, ``0.7/23.5 GiB``; ``''`` if unknown."""
    if used_bytes is None or total_bytes is None:
        return ''
    digits = 0 if total_bytes >= 100 * GiB else 1
    return f'{used_bytes / GiB:.{digits}f}/{total_bytes / GiB:.{digits}f} GiB'


_RATE_UNITS = ('KiB/s', 'MiB/s', 'GiB/s', 'TiB/s')


def format_rate(kib_per_s: float | None) -> str:
    """Format KiB/s in at most 10 characters, in the unit that fits: ``54.0 GiB/s``, ``0 KiB/s``."""
    if kib_per_s is None or _is_missing(kib_per_s):
        return NOT_AVAILABLE
    unit = 0
    while kib_per_s >= 999.5 and unit < len(_RATE_UNITS) - 1:
        kib_per_s /= 1024
        unit += 1
    digits = 1 if unit >= 2 and kib_per_s < 999.5 else 0
    return f'{kib_per_s:.{digits}f} {_RATE_UNITS[unit]}'


def format_measured(unit: str, value: float | None) -> str:
    """Format a raw value of a metric with this unit: ``62%``, ``63°C``, ``608 W``, ``1770 MHz``."""
    if value is None or _is_missing(value):
        return NOT_AVAILABLE
    if unit == '%':
        return format_share(value)
    if unit == 'KiB/s':
        return format_rate(value)
    if unit == 'W':
        return f'{value / 1000:.0f} W'
    return f'{value:.0f}{"" if unit == "°C" else " "}{unit}'


def format_energy(joules: float | None) -> str:
    """Format joules as watt-hours, the unit of electricity bills: ``41.7 Wh``, ``12.3 kWh``."""
    if joules is None or _is_missing(joules):
        return NOT_AVAILABLE
    hours = joules / 3600
    for unit in ('Wh', 'kWh', 'MWh'):
        if hours < 999.95 or unit == 'MWh':
            break
        hours /= 1000
    return f'{hours:.1f} {unit}'


def format_count(count: float | None) -> str:
    """Format a count, or a percentage in a column with ``%`` in its heading: ``0``, ``17``."""
    return NOT_AVAILABLE if count is None or _is_missing(count) else f'{count:.0f}'


# Percentages and load averages --------------------------------------------------------------------


def format_percent(percent: float | None) -> str:
    """Format a percentage: ``42%`` for an int, ``42.0%`` for a float."""
    return NOT_AVAILABLE if percent is None else utilization2string(percent)


def format_short_percent(percent: float | None) -> str:
    """Format a percentage in at most 3 characters: ``42%``, or ``MAX`` from 100 on, as of fans."""
    if percent is None or _is_missing(percent):
        return NOT_AVAILABLE
    return 'MAX' if percent >= 100 else f'{min(99, round(percent))}%'


def format_share(percent: float | None) -> str:
    """Format a whole percentage in at most 4 characters: ``7%``, ``100%``; more than 999 is ``999%``."""
    if percent is None or _is_missing(percent):
        return NOT_AVAILABLE
    return f'{min(999, round(percent))}%'


def format_cpu_percent(percent: float | None) -> str:
    """Format ``%CPU`` in at most 5 characters, like the other whole percentages: ``12``, ``9999+``."""
    return '9999+' if percent is not None and percent >= 9999.5 else format_count(percent)


def format_tenths(percent: float | None) -> str:
    """Format a percentage that is usually small, such as ``%HOST``: ``0.4``, ``15.6``."""
    return NOT_AVAILABLE if percent is None or _is_missing(percent) else f'{percent:.1f}'


def format_load(load: float | None) -> str:
    """Format a load average in at most 5 characters: ``0.42``, ``48``, ``9999+``."""
    if load is not None and load >= 9999.5:
        return '9999+'
    return f'{load:.2f}' if load is not None and load < 9.995 else format_count(load)


#: A full cell of a bar, not so high that it joins the bar above; one of a bar without others above
#: and below; and eighths of one.
FULL, WHOLE, EIGHTHS = '▇', '█', '▏▎▍▌▋▊▉'
#: A value that is not known.
UNKNOWN_MARK = '·'


def format_bar(percent: float, width: int) -> str:
    """Return the filled part of a bar with eighth blocks: at least an eighth from 0.5 % on."""
    eighths = round(max(0.0, min(100.0, percent)) * 8 * width / 100)
    eighths = max(eighths, int(percent >= 0.5 and width > 0))
    whole, rest = divmod(eighths, 8)
    return WHOLE * whole + (EIGHTHS[rest - 1] if rest else '')


# Device -------------------------------------------------------------------------------------------


def product_name(name: str) -> str:
    """Return the name of a GPU as it is drawn: safe, and without ``NVIDIA``."""
    text = safe(name)
    return text[len(_MAKER) :] if text.startswith(_MAKER) else text


#: First words of a product name that are its brand, and the end of a longer name.
_BRAND, _NAME_END = re.compile(r'^[^\d ]+ '), re.compile(r'\b[ -][^ -]*$')


def format_device_name(name: str | None, width: int) -> str:
    """Format a product name without its maker; one that is too long loses its brand, then its end."""
    if name is None:
        return NOT_AVAILABLE
    text = product_name(name)
    for part in (_BRAND, _NAME_END):
        while cell_width(text) > width and part.search(text):
            text = part.sub('', text, count=1)
    return clip(text, width)


def format_word(word: str | None) -> str:
    """Return a word of the driver (bus ID, MIG mode, performance state) unchanged but safe."""
    return NOT_AVAILABLE if word is None else safe(word)


def format_switch(state: str | None) -> str:
    return {'Enabled': 'On', 'Disabled': 'Off'}.get(state or '', format_word(state))


def format_temperature(celsius: float | None, width: int = 4) -> str:
    """Format a temperature for this width: ``45°C``, ``105C``."""
    if celsius is None or _is_missing(celsius):
        return NOT_AVAILABLE
    text = f'{celsius:.0f}°C'
    return text if len(text) <= width else text.replace('°', '')


def format_pcie_link(generation: int | None, lanes: int | None) -> str:
    """Format a PCIe link: ``Gen4 x16``, ``Gen? x16``, or ``N/A`` if both values are unknown."""
    if generation is None and lanes is None:
        return NOT_AVAILABLE
    shown = ['?' if number is None else str(number) for number in (generation, lanes)]
    return f'Gen{shown[0]} x{shown[1]}'


def format_reasons(reasons: Sequence[str] | None) -> str:
    """Format the reasons for low clocks: ``none``, ``SW power cap, GPU idle``."""
    if reasons is None:
        return NOT_AVAILABLE
    return ', '.join(map(_reason_words, reasons)) or 'none'


def _reason_words(name: str) -> str:
    words = safe(name).split('_')
    return ' '.join(word.upper() if word in ('sw', 'hw', 'gpu') else word for word in words)


# Devices of a process or problem ---------------------------------------------


def devices_text(devices: Sequence[DeviceKey]) -> str:
    """Return the devices of a process: ``GPU 0-3,7``, ``GPU 1:0 2``, ``Host`` if there are none."""
    return f'GPU {join_labels(key.label for key in sorted(devices))}' if devices else 'Host'


def join_labels(labels: Iterable[str]) -> str:
    """Join labels in natural order; successive GPUs become a range: ``0-3,7``; with MIG: ``0:2 3``."""
    labels = list(labels)
    if any(':' in label for label in labels):
        return ' '.join(labels)  # a comma would seem to separate MIG devices of one GPU
    runs: list[tuple[str, str, int]] = []
    for label in labels:
        if runs and label.isdecimal() and runs[-1][1].isdecimal():
            first, last, length = runs[-1]
            if int(label) == int(last) + 1:
                runs[-1] = (first, label, length + 1)
                continue
        runs.append((label, label, 1))
    return ','.join(
        first if length == 1 else f'{first}{"," if length == 2 else "-"}{last}'
        for first, last, length in runs
    )


# Process ------------------------------------------------------------------------------------------


def format_process_type(type_: str | None) -> str:
    """Format a process type: ``C`` compute, ``G`` graphics, ``X`` both, ``M`` MPS, ``?`` unknown."""
    return 'X' if type_ == 'C+G' else safe(type_ or '?')[:1]


def format_user(username: str | None, width: int = 255) -> str:
    """Format a user name; a name that is cut ends in ``..``."""
    return clip(safe(username or UNKNOWN_USER), width)


#: Status of a process → text shown in place of its command.
SPECIAL_COMMANDS = {
    'zombie': 'Zombie Process',
    'no permission': 'No Permissions',
    'gone': '(not visible here)',
    'foreign': 'Process of Another PID Namespace',
}


def special_command(status: str, name: str | None) -> str | None:
    """Return the text in place of a command, ``None`` if the command is shown.

    It is not safe to draw yet.
    """
    return f'{name} <defunct>' if status == 'zombie' and name else SPECIAL_COMMANDS.get(status)


def format_command(command: str | None, status: str = 'running', *, name: str | None = None) -> str:
    """Format a command line; without one, the status or the name of the process in brackets."""
    special = special_command(status, name)
    if command and (special is None or status == 'foreign'):
        return safe(command)
    if special is not None:
        return safe(special)
    return f'[{safe(name)}]' if name else NOT_AVAILABLE


#: Programs whose first options and directories say less than the script that they run.
_INTERPRETER = re.compile(r'(?:python|pypy|perl|ruby|node|bash|sh|Rscript|julia)[\d.]*')
_CUT = '..'


def brief_command(command: str, width: int) -> str:
    """Return a command without its directories, interpreter and modules between, if it is too long.

    ``/opt/conda/bin/python3 -u ./train.py --bf16`` becomes ``train.py --bf16``, and
    ``python3 -m vllm.entrypoints.openai.api_server`` becomes ``vllm..api_server``.
    """
    if len(command) <= width:
        return command
    quote = command[:1] if command[:1] in ('"', "'") else ''
    program, _, rest = f'{command[len(quote) :]} '.partition(f'{quote} ')
    program, rest = program.rpartition('/')[2] or program, rest.rstrip()
    if not _INTERPRETER.fullmatch(program):
        return f'{program} {rest}'.rstrip()
    while rest.startswith('-') and not rest.startswith(('-m ', '-c ', '-e ')):
        _, _, rest = rest.partition(' ')
    is_module = rest.startswith('-m ')
    if not rest or (rest.startswith('-') and not is_module):
        return f'{program} {rest}'.rstrip()
    rest = rest[len('-m ') :] if is_module else rest
    what, space, options = rest.partition(' ')
    if what.startswith(('/', './')):
        what = what.rpartition('/')[2] or what
    names = what.split('.')
    if is_module and len(names) > 2 and len(rest) > width:
        what = f'{names[0]}{_CUT}{names[-1]}'
    return what + space + options


def brief_commands(commands: Sequence[str], width: int) -> list[str]:
    """Return commands that fit; if several are cut at the same place, what differs is shown.

    ``python3 train.py --bf16 --rank=3`` becomes ``train.py --..rank=3`` next to another rank.
    """
    texts = [brief_command(command, width) for command in commands]
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        if len(text) > width:
            groups.setdefault(text[: width - len(_CUT)], []).append(number)
    for numbers in groups.values():
        members = {texts[number] for number in numbers}
        if len(members) > 1:
            first, last = min(members), max(members)
            pairs = enumerate(zip(first, last))
            start = next((i for i, (before, after) in pairs if before != after), len(first))
            # The whole word that differs, if it is short.
            start = max(texts[numbers[0]].rfind(' ', 0, start), start - width // 4) + 1
            for number in numbers:
                tail = clip(texts[number][start:], width // 2)
                shared = texts[number][: width - len(tail) - len(_CUT)].rstrip('.')
                texts[number] = shared + _CUT + tail
    return [clip(text, width) for text in texts]


# Time ---------------------------------------------------------------------------------------------


def format_age(seconds: float | None) -> str:
    """Format a time in at most 4 characters: ``37m``, ``60h``, ``19d``."""
    if seconds is None or _is_missing(seconds) or not 0 <= seconds < 86400 * 1e6:
        return NOT_AVAILABLE
    return format_duration(min(seconds // 1, 999 * 86400.0))


def format_idle_time(seconds: float | None, *, is_longer: bool = False) -> str:
    """Format an idle time: ``35s``, ``5m``; ``''`` below 10 s.

    With ``is_longer``, it is only known to be at least as long: ``>5m``.
    """
    if seconds is not None and seconds < _IDLE_SECONDS:
        return ''
    text = format_age(seconds)
    return f'>{text}' if is_longer and text != NOT_AVAILABLE else text


def format_start(seconds: float | None, running_seconds: float | None = None) -> str:
    """Format the local time at which a process started: ``Nov 19 14:02``.

    Today it is ``14:02``, in another year ``Nov 19  2025``. The running time shows what day it is.
    """
    if seconds is None or not 0 <= seconds <= seconds + (running_seconds or 0.0) < _LATEST_SECONDS:
        return NOT_AVAILABLE
    t = time.localtime(seconds)
    day = f'{_MONTHS[t.tm_mon - 1]} {t.tm_mday:2}'
    now = None if running_seconds is None else time.localtime(seconds + running_seconds)
    if now is not None and (t.tm_year, t.tm_yday) == (now.tm_year, now.tm_yday):
        return f'{t.tm_hour:02}:{t.tm_min:02}'
    if now is not None and t.tm_year != now.tm_year:
        return f'{day}  {t.tm_year}'
    return f'{day} {t.tm_hour:02}:{t.tm_min:02}'


def format_timestamp(seconds: float) -> str:
    """Format local date and time in English, in any locale: ``Tue Jan 02 03:04:05 2024``."""
    t = time.localtime(seconds)
    return (
        f'{_DAYS[t.tm_wday]} {_MONTHS[t.tm_mon - 1]} {t.tm_mday:02} '
        f'{format_clock(seconds)} {t.tm_year}'
    )


def format_clock(seconds: float) -> str:
    """Format the local time of day: ``03:04:05``."""
    return time.strftime('%H:%M:%S', time.localtime(seconds))


def format_moment(seconds: float, now: float) -> str:
    """Format the time of day, ``03:04:05``, or the date if it is not today: ``Jan 02``."""
    t = time.localtime(seconds)
    if t[:3] == time.localtime(now)[:3]:
        return format_clock(seconds)
    return f'{_MONTHS[t.tm_mon - 1]} {t.tm_mday:02}'


# Advice -------------------------------------------------------------------------------------------


def advice_lines(advice: str, width: int, most: int = 1000, before: str = '') -> list[str]:
    """Wrap a safe text and after it what fits of a safe advice, in at most ``most`` lines.

    Without room, whole sentences or ends of them are left out: first those without the command.
    Half a command does harm, so that none is cut or wrapped. Without room for any part, there are
    no lines.
    """
    parts = _PART_END.split(with_whole_commands(advice)) if advice else []
    starts = [0, *(at for at, part in enumerate(parts, 1) if part.endswith('.'))]
    runs = [parts[start:end] for start in starts for end in range(len(parts), start, -1)]
    for text in sorted(map(' '.join, runs), key=lambda text: NO_BREAK not in text):
        lines = wrap(before + text.rstrip('.;:'), max(2, width))
        if len(lines) <= most and all(cell_width(word) <= width for word in text.split(' ')):
            return [line.replace(NO_BREAK, ' ') for line in lines]
    return []
