# SPDX-License-Identifier: Apache-2.0
"""Hosts as text: tables for people, CSV and JSON for programs. Pure."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from nvitop.fleet.types import FleetHost, Totals, totals
from nvitop.printable import printable

if TYPE_CHECKING:
    from typing import Any, Sequence

    from nvitop.fleet.queries import Scope
    from nvitop.fleet.types import Fleet

FORMATS = ('table', 'json', 'csv')
#: Version of the JSON structure; increased by changes that would break programs.
SCHEMA = 1


def host_values(host: FleetHost, now: float) -> dict[str, Any]:
    """Return the values of a host by name; ``None`` if not available."""
    return {
        'host': host.name,
        'gpus': len(host.gpus),
        'utilization_percent': rounded(host.utilization_percent, 1),
        'memory_used_bytes': rounded(host.memory_used_bytes),
        'memory_total_bytes': rounded(host.memory_total_bytes),
        'power_watts': rounded(host.power_watts, 1),
        'power_limit_watts': rounded(host.power_limit_watts, 1),
        'temperature_celsius': rounded(host.temperature_celsius),
        'idle_gpus': host.idle,
        'held_gpus': host.held,
        'users': list(host.users),
        'findings': list(host.findings),
        'age_seconds': rounded(host.age(now), 1),
        'exporters': sorted({one.dialect for one in host.exporters}),
    }


def rounded(value: float | None, digits: int = 0) -> float | int | None:
    """Return a value with few digits, a whole number if there are none."""
    if value is None:
        return None
    return round(value, digits) if digits else round(value)


def fleet_text(fleet: Fleet, kind: str, now: float) -> str:
    """Return the hosts in one of :data:`FORMATS`."""
    if kind == 'json':
        return _json(fleet, now)
    return _csv(fleet, now) if kind == 'csv' else _table(fleet, now)


def _json(fleet: Fleet, now: float) -> str:
    sums = totals(fleet.hosts, now)
    document = {
        'schema': SCHEMA,
        'timestamp': round(fleet.timestamp, 3),
        'totals': {
            'hosts': sums.hosts,
            'gpus': sums.gpus,
            'utilization_percent': rounded(sums.utilization_percent, 1),
            'memory_used_bytes': rounded(sums.memory_used_bytes),
            'memory_total_bytes': rounded(sums.memory_total_bytes),
            'power_watts': rounded(sums.power_watts, 1),
            'idle_gpus': sums.idle,
            'held_gpus': sums.held,
            'faulty_gpus': sums.faulty,
            'age_seconds': rounded(sums.age, 1),
        },
        'warnings': list(fleet.warnings),
        'hosts': [
            {
                **host_values(host, now),
                'gpu_utilization_percent': [
                    rounded(gpu.utilization_percent, 1) for gpu in host.gpus
                ],
            }
            for host in fleet.hosts
        ],
    }
    return json.dumps(document, indent=2) + '\n'


def _csv(fleet: Fleet, now: float) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(host_values(FleetHost(''), now))
    for host in fleet.hosts:
        writer.writerow([_cell(value) for value in host_values(host, now).values()])
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        value = ';'.join(map(str, value))
    if isinstance(value, str) and value.startswith(('=', '+', '-', '@')):
        return f"'{value}"  # spreadsheets would run it as a formula
    return '' if value is None else value


def _table(fleet: Fleet, now: float) -> str:
    rows = [('HOST', 'GPUS', 'UTIL', 'MEMORY', 'POWER', 'TEMP', 'AGE', 'USERS', 'FINDINGS')]
    rows += [
        (
            host.name,
            str(len(host.gpus)),
            percent_text(host.utilization_percent),
            memory_text(host.memory_used_bytes, host.memory_total_bytes),
            power_text(host.power_watts, host.power_limit_watts),
            temperature_text(host.temperature_celsius),
            age_text(host.age(now)),
            users_text(host.users),
            ', '.join(host.findings),
        )
        for host in fleet.hosts
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ['  '.join(totals_texts(totals(fleet.hosts, now)).values())]
    for row in rows:
        cells = [
            text.ljust(width) if place in (0, 7, 8) else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths))
        ]
        lines.append('  '.join(cells).rstrip())
    return '\n'.join(map(printable, lines)) + '\n'


def no_hosts(scope: Scope) -> str:
    """Return why the server may have returned no host."""
    if scope.match:
        return f'no series of GPUs match {{{",".join(map(str, scope.match))}}}'
    return 'the server has no series of GPUs; does it scrape an exporter for GPUs?'


# Texts of values


def totals_texts(sums: Totals) -> dict[str, str]:
    """Return the sums over all hosts, in the order of the screen."""
    return {
        'hosts': counted(sums.hosts, 'host'),
        **({'gone': f'{sums.gone:,} gone'} if sums.gone else {}),
        'gpus': counted(sums.gpus, 'GPU'),
        'utilization': f'util {percent_text(sums.utilization_percent)}',
        'memory': f'mem {percent_text(sums.memory_percent)}',
        'power': power_text(sums.power_watts),
        'idle': f'idle {sums.idle:,} ({sums.held:,} held)',
        'faulty': f'bad {sums.faulty:,}',
        'age': f'age {age_text(sums.age)}',
    }


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``'1 host'``, ``'2,000 hosts'``."""
    return f'{number:,} {noun}{"" if number == 1 else "s"}'


def percent_text(percent: float | None) -> str:
    """Return a percentage: ``'98%'``."""
    return 'N/A' if percent is None else f'{percent:.0f}%'


def memory_text(used: float | None, total: float | None) -> str:
    """Return memory in use and in total: ``'611/640 GiB'``, ``'32.6 TiB'``."""
    if used is None:
        return 'N/A'
    scale, unit, digits = (1 << 30, 'GiB', 0)
    if max(used, total or 0.0) >= 10_000 << 30:
        scale, unit, digits = (1 << 40, 'TiB', 1)
    text = f'{used / scale:.{digits}f}'
    return f'{text} {unit}' if total is None else f'{text}/{total / scale:.{digits}f} {unit}'


def power_text(watts: float | None, limit: float | None = None) -> str:
    """Return power: ``'5.4/5.6 kW'``."""
    if watts is None:
        return 'N/A'
    top = max(watts, limit or 0.0)
    scale, unit, digits = (1.0, 'W', 0) if top < 1000 else (1e3, 'kW', 1)
    if top >= 1e6:
        scale, unit, digits = 1e6, 'MW', 2
    text = f'{watts / scale:.{digits}f}'
    return f'{text} {unit}' if limit is None else f'{text}/{limit / scale:.{digits}f} {unit}'


def temperature_text(celsius: float | None) -> str:
    """Return a temperature: ``'71°C'``."""
    return 'N/A' if celsius is None else f'{celsius:.0f}°C'


def age_text(seconds: float | None) -> str:
    """Return an age: ``'9s'``, ``'3 min'``, ``'2 h'``, ``'5 d'``."""
    if seconds is None:
        return 'N/A'
    if seconds < 120:
        return f'{seconds:.0f}s'
    if seconds < 7200:
        return f'{seconds / 60:.0f} min'
    return f'{seconds / 3600:.0f} h' if seconds < 172800 else f'{seconds / 86400:.0f} d'


def users_text(users: Sequence[str]) -> str:
    """Return users in a short form: ``'bob +2'``."""
    if not users:
        return ''
    return users[0] if len(users) == 1 else f'{users[0]} +{len(users) - 1}'
