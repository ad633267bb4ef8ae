# SPDX-License-Identifier: GPL-3.0-only
"""The lines of the screens other than the list of hosts: problems, help, heat map. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nvitop.exporter.dialects import dialect
from nvitop.fleet.output import age_text, counted
from nvitop.fleet.types import LATE_SECONDS
from nvitop.gui.fleet.keys import FleetKeys
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width

if TYPE_CHECKING:
    from nvitop.fleet.types import Fleet, FleetHost

_HEADING = Style(Role.TITLE, bold=True)
_ERROR = Style(Role.ERROR, bold=True)
_WARNING = Style(Role.WARNING)
_DIM = Style(Role.DIM)
#: Maximum width of the name of a host in the heat map.
_NAME_WIDTH = 16
#: Maximum number of hosts with old data that are listed.
_MAX_OLD = 50


class Line(NamedTuple):
    """A line of text."""

    text: str
    style: Style = PLAIN
    #: Number of cells at the left that are keys.
    keys: int = 0


class HeatLayout(NamedTuple):
    """Places of hosts in the heat map: several in each line."""

    hosts: int
    #: Number of hosts in a line.
    columns: int
    #: Cells of a host: its name and its GPUs.
    name_width: int
    gpus: int

    @property
    def lines(self) -> int:
        """Number of lines."""
        return -(-self.hosts // self.columns)

    @property
    def stride(self) -> int:
        """Cells from one host to the next."""
        return self.name_width + self.gpus + 3


def lay_out_heat(hosts: tuple[FleetHost, ...], width: int) -> HeatLayout:
    """Return the places of hosts on a screen."""
    names = max((cell_width(host.name) for host in hosts), default=1)
    name_width = min(_NAME_WIDTH, names)
    gpus = min(max((len(host.gpus) for host in hosts), default=1), max(1, width - name_width - 3))
    columns = max(1, (width + 2) // (name_width + gpus + 3))
    return HeatLayout(len(hosts), columns, name_width, gpus)


def problem_lines(fleet: Fleet, server: str, period: float, error: str, now: float) -> list[Line]:
    """Return the server, the exporters, and everything that is wrong."""
    size = f', {fleet.size_bytes / 1e6:.2f} MB' if fleet.size_bytes else ''
    last = f'last request: {fleet.seconds:.2f} s{size}; one every {period:.0f} s'
    lines = [
        Line('Server', _HEADING),
        Line(f'  {server}'),
        Line(f'  {last if fleet.timestamp else "no answer yet"}'),
        *(Line(f'  {error}', _ERROR) for error in [error] if error),
        *(Line(f'  warning: {text}', _WARNING) for text in fleet.warnings),
        Line(''),
        Line('Exporters', _HEADING),
    ]
    counts: dict[str, int] = {}
    for host in fleet.hosts:
        for name in {one.dialect for one in host.exporters if host.gone_since is None}:
            counts[name] = counts.get(name, 0) + 1
    for name, count in sorted(counts.items()):
        lines.append(Line(f'  {name}: {counted(count, "host")} ({dialect(name).help})'))
    if not counts:
        lines.append(Line('  none found', _DIM))
    lines += [Line(''), Line('GPUs', _HEADING)]
    found = [
        Line(f'  {host.name}: {text}', _ERROR) for host in fleet.hosts for text in host.findings
    ]
    lines += found or [Line('  nothing wrong is known', _DIM)]
    lines += [Line(''), Line('Age of data', _HEADING)]
    old = [_age_line(host, now) for host in fleet.hosts]
    shown = [line for line in old if line is not None]
    lines += shown[:_MAX_OLD] or [Line('  up to date' if fleet.hosts else '  unknown', _DIM)]
    if len(shown) > _MAX_OLD:
        lines.append(Line(f'  and {len(shown) - _MAX_OLD:,} more'))
    return lines


def _age_line(host: FleetHost, now: float) -> Line | None:
    if host.gone_since is not None:
        text = f'  {host.name}: gone for {age_text(now - host.gone_since)}'
        return Line(f'{text}; the server has no current values', _WARNING)
    age = host.age(now)
    if age is None or age < LATE_SECONDS:
        return None
    return Line(f'  {host.name}: {age_text(age)} old', _WARNING)


def help_lines(table: FleetKeys) -> list[Line]:
    """Return all keys, and how to read the screens."""
    rows = [(' '.join(row.keys), row.help) for row in table if row.help and row.keys]
    width = max(len(keys) for keys, _ in rows)
    legend = (
        ('▁▂▃▄▅▆▇', 'utilization of one GPU, from 0 % to 100 %'),
        ('▁ in the color of warnings', 'idle, but more than 1 GiB of its memory is in use (held)'),
        ('!', 'something is wrong with this GPU'),
        ('·', 'no exporter reports its utilization'),
        ('AGE', 'age of the values; late from 2 minutes, old from 5 minutes'),
    )
    wide = max(len(sign) for sign, _ in legend)
    return [
        Line('Keys', _HEADING),
        *(Line(f'  {keys:{width}}  {text}', keys=2 + len(keys)) for keys, text in rows),
        Line(''),
        Line('Signs', _HEADING),
        *(Line(f'  {sign:{wide}}  {text}') for sign, text in legend),
    ]
