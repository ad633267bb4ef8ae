"""Generated tables of the documentation, which cog writes into the pages: ``make update-docs``.

A page calls these functions between ``[[[cog`` and ``]]]``. They read the program's own tables and
parsers. A test fails if a page is out of date.
"""

from __future__ import annotations

import argparse
import pathlib
import re
from typing import Callable, Iterable, Iterator, Sequence

from nvitop.api.device import Device
from nvitop.basics.metrics import EXTENDED_METRICS, METRICS, METRICS_BY_NAME, PROCESS_METRICS
from nvitop.basics.units import UNIT_NAMES
from nvitop.console.commands import COMMANDS, NVISEL
from nvitop.console.option_table import KEY_TABLE, SETTINGS, SWITCH, Option, make_parser
from nvitop.exporter.dialects import DIALECT_NAMES, DeviceRow, Observation, SeriesOptions, dialect
from nvitop.exporter.families import make_families, owner_properties
from nvitop.exporter.pages import PROCESS_SERIES
from nvitop.gui.model.choices import GRAPHS, Screen
from nvitop.gui.model.columns import COLUMNS, TREE_COLUMNS, USER_COLUMNS
from nvitop.gui.model.device_columns import DEVICE_COLUMNS
from nvitop.gui.model.table import Column
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.bindings import BINDINGS, USUAL_KEYS
from nvitop.gui.state.help_contents import MOUSE, TYPING, key_entry
from nvitop.gui.state.help_contents import key_groups as groups_of
from nvitop.gui.state.keymap import HelpGroup
from nvitop.health import BUSY_PERCENT, HELD_RULE, SEVERITIES
from nvitop.health.xid import ACTIONS, XIDS, action_of
from nvitop.owner.types import Owner
from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    ProcessKey,
    ProcessSample,
    Sample,
)
from nvitop.simulation.schema import ERROR_CODES, REQUIRED, TABLES

ROOT = pathlib.Path(__file__).parent.parent

#: Heading in the device panel with two rows for each GPU → metrics that it shows.
DEVICE_CELLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('GPU', ('index',)),
    ('Name', ('name',)),
    ('Persistence-M', ('persistence_mode',)),
    ('TCC/WDDM', ('current_driver_model',)),
    ('Bus-Id', ('bus_id',)),
    ('Uncorr. ECC', ('total_volatile_uncorrected_ecc_errors',)),
    ('MIG M.', ('mig_mode',)),
    ('Fan', ('fan_speed',)),
    ('Temp', ('temperature',)),
    ('Perf', ('performance_state',)),
    ('Pwr:Usage/Cap', ('power_usage', 'power_limit')),
    ('Memory-Usage', ('memory_used', 'memory_total')),
    ('GPU-Util', ('gpu_utilization',)),
    ('Compute M.', ('compute_mode',)),
)
#: Title of a bar → metrics that it shows.
BARS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('MEM', ('memory_percent', 'memory_used')),
    ('UTIL', ('gpu_utilization', 'sm_clock')),
)
#: Metric → source, if the docstring of its method does not name a function.
SOURCES = {
    'index': '`nvmlDeviceGetHandleByIndex`',
    'memory_percent': '`memory_used` / `memory_total`',
    'pcie_link_down_trained': '`nvmlDeviceGetMaxPcieLinkGeneration`, `nvmlDeviceGetMaxPcieLinkWidth`',
    'pcie_tx_throughput': '`nvmlDeviceGetPcieThroughput`',
    'pcie_rx_throughput': '`nvmlDeviceGetPcieThroughput`',
    'nvlink_total_tx_throughput': '`NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX`',
    'nvlink_total_rx_throughput': '`NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX`',
}
#: Host panel: title, meaning, unit, source.
HOST: tuple[tuple[str, str, str, str], ...] = (
    (
        'load',
        'processes that run or wait for a CPU or disk, averaged over 1, 5 and 15 minutes',
        'count',
        '`getloadavg`',
    ),
    (
        'CPU',
        'share of time in which the CPUs were busy; waiting for disks counts as idle',
        '%',
        'psutil `cpu_times`',
    ),
    (
        'up',
        'time since the machine was started, including sleep',
        'h:m:s',
        'psutil `boot_time`',
    ),
    ('MEM', 'memory that is not available / total', '%', 'psutil `virtual_memory`'),
    ('SWAP', 'swap space in use / total', '%', 'psutil `swap_memory`'),
)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f'| {" | ".join(heading)} |'
    yield f'|{" --- |" * len(heading)}'
    for row in rows:
        yield f'| {" | ".join(cell.replace("|", chr(92) + "|") for cell in row)} |'


def code(text: str) -> str:
    """Format text as code, even if it contains a backtick; a dash if it is empty."""
    if not text:
        return '–'
    return f'`` {text} ``' if '`' in text else f'`{text}`'


def key_groups() -> Iterator[HelpGroup]:
    """Yield every key by heading, as on the help screen."""
    notes = {'Sorting': 'Sorting (after o, an upper-case letter reverses the order)'}
    for heading, bindings in groups_of(MONITOR, BINDINGS, Screen.MAIN).items():
        yield HelpGroup(notes.get(heading, heading), tuple(map(key_entry, bindings)))
    yield from (TYPING, MOUSE)


def keys() -> Iterator[str]:
    """Yield every key."""
    for group in key_groups():
        yield f'## {group.heading}'
        yield ''
        rows = (
            (' '.join(code(key) for key in entry.keys.split()), entry.text)
            for entry in group.entries
        )
        yield from table(('keys', 'action'), rows)
        yield ''


def metric_rows(cells: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Sequence[str]]:
    """Yield title, meaning, unit, source and nvidia-smi name of each metric."""
    for shown, names in cells:
        for name in names:
            metric = METRICS_BY_NAME[name]
            found = re.findall(
                r'``(nvml\w+|NVML_\w+)``', getattr(Device, metric.method).__doc__ or ''
            )
            source = ', '.join(dict.fromkeys(code(each) for each in found[:2]))
            source = SOURCES.get(name) or source or 'derived'
            query = code(metric.query or '')
            yield (code(shown), metric.help, metric.unit, source, query)


def metric_table(cells: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Yield a table of metrics with their sources."""
    heading = ('title', 'meaning', 'unit', 'NVML', '`nvidia-smi --query-gpu`')
    yield from table(heading, metric_rows(cells))


def process_columns() -> Iterator[str]:
    """Yield the table of the columns of the process list."""
    rows = []
    for column in COLUMNS:
        unit, source = column.unit, column.source
        order = code(f'o{column.letter}') if column.letter else ''
        title = code(column.title) if column.title else '(no heading)'
        rows.append((title, code(column.name), column.help, unit, source, order))
    yield from table(('column', 'name', 'meaning', 'unit', 'source', 'sort key'), rows)


def column_table(columns: Iterable[Column]) -> Iterator[str]:
    """Yield a table of columns and their meaning."""
    yield from table(('column', 'meaning'), ((code(c.title), c.help) for c in columns))


def measured_table(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a table of columns with their meaning, unit and source."""
    rows = ((code(c.title), c.help, c.unit, c.source) for c in columns)
    yield from table(('column', 'meaning', 'unit', 'source'), rows)


def host() -> Iterator[str]:
    """Yield the table of the host panel."""
    rows = ((code(title), *rest) for title, *rest in HOST)
    yield from table(('title', 'meaning', 'unit', 'source'), rows)


def graphs() -> Iterator[str]:
    """Yield the table of the device graphs."""
    rows = ((code(metric.graph), metric.help, metric.unit, code(metric.name)) for metric in GRAPHS)
    yield from table(('title', 'meaning', 'unit', 'metric'), rows)


def metrics() -> Iterator[str]:
    """Yield the table of device metrics."""
    heading = ('name', 'meaning', 'unit', 'read', 'MIG', '`nvidia-smi --query-gpu`')
    rows = (
        (
            code(metric.name),
            metric.help,
            metric.unit,
            'once' if metric.tier == 'static' else metric.tier,
            'yes' if metric.mig else '',
            code(metric.query or ''),
        )
        for metric in METRICS
    )
    yield from table(heading, rows)


def dialects() -> Iterator[str]:
    """Yield the table of dialects of the exporter."""
    rows = ((code(name), dialect(name).help) for name in DIALECT_NAMES)
    yield from table(('`--names`', 'names'), rows)


def own_series() -> Iterator[str]:
    """Yield the table of series of GPUs."""
    own = dialect('own')
    rows = [
        (
            code(row.name + _labels(row)),
            row.help,
            row.type,
            code(row.metrics[0]),
        )
        for row in own.devices
    ]
    yield from table(('series', 'meaning', 'type', 'source'), rows)


def _labels(row: DeviceRow) -> str:
    labels = [*(f'{name}="{value}"' for name, value in row.labels)]
    labels += ['reason'] if row.form == 'reasons' else []
    return f'{{{",".join(labels)}}}' if labels else ''


def process_series() -> Iterator[str]:
    """Yield the table of series of processes."""
    rows = [
        (code(row.name), row.help, 'gauge', code(row.metric)) for row in dialect('own').processes
    ]
    yield from table(('series', 'meaning', 'type', 'source'), rows)


def other_series() -> Iterator[str]:
    """Yield the table of series that are not made from one metric."""
    own = dialect('own')
    known = {row.name for row in own.devices} | {row.name for row in own.processes}
    device = DeviceKey(0, -1, 'GPU-0')
    good = DeviceSample(device, DeviceInfo(device, 0))
    bad = good._replace(status='lost')
    asleep = good._replace(key=DeviceKey(1), status='asleep')
    owner = Owner('docker', 'id', 'web')
    process = ProcessSample(
        ProcessKey(1, 0.0, device),
        gpu_memory_bytes=1,
        username='ann',
        owner=owner,
        name='python',
        command='python train.py',
        type='C',
    )
    sample = Sample(
        0.0,
        simulated='demo',
        devices=(good, asleep),
        processes=(process,),
        missing_gpus=('0000:3d:00.0',),
    )
    options = SeriesOptions(processes=True, commands=True, owners=True)
    user = ('user', 'ann')
    usage = {holder: {} for holder in ((), (user,), (user, *owner_properties(process).items()))}
    lost = Observation(sample._replace(devices=(bad,)), options)
    found = {
        family.name: family
        for family in make_families(['own'], lost)
        + make_families(['own'], Observation(sample, options, usage=usage))
        if family.name not in known
    }
    rows = [
        (
            code(family.name),
            family.help,
            family.type,
            ', '.join(code(label) for label in family.points[0].labels if label not in _COMMON),
        )
        for family in found.values()
    ]
    rows += [(code(name), text, kind, '') for name, (kind, text) in PROCESS_SERIES.items()]
    yield from table(('series', 'meaning', 'type', 'labels'), rows)


#: Labels that all series of GPUs have.
_COMMON = ('gpu', 'uuid')


def extended_metrics() -> Iterator[str]:
    """Yield the table of extended device metrics."""
    heading = ('name', 'meaning', 'unit', '`nvidia-smi --query-gpu`')
    rows = ((code(m.name), m.help, m.unit, code(m.query or '')) for m in EXTENDED_METRICS)
    yield from table(heading, rows)


def process_metrics() -> Iterator[str]:
    """Yield the table of process metrics."""
    heading = ('name', 'meaning', 'unit', '`nvidia-smi --query-compute-apps`')
    rows = (
        (code(metric.name), metric.help, metric.unit, code(metric.query or ''))
        for metric in PROCESS_METRICS
    )
    yield from table(heading, rows)


def settings() -> Iterator[str]:
    """Yield the table of settings in the configuration file."""

    def values(option: Option) -> str:
        if option.arguments is SWITCH:
            return '`true` or `false`'
        if option.arguments is KEY_TABLE:
            return 'a table of actions and lists of keys'
        if option.unit:
            return f'{UNIT_NAMES[option.unit]}, or a text such as `"90s"`'
        choices = option.arguments.get('choices')
        return ', '.join(map(code, choices)) if choices else 'a list of names'

    rows = (
        (code(key), option.comment, values(option), option.applies)
        for key, option in SETTINGS.items()
    )
    yield from table(('key', 'meaning', 'value', 'applies to'), rows)


def actions() -> Iterator[str]:
    """Yield the table of actions and their default keys."""
    rows = ((code(name), ' '.join(map(code, keys))) for name, keys in USUAL_KEYS.items())
    yield from table(('action', 'default keys'), rows)


def bindings() -> Iterator[str]:
    """Yield the table of extras that match the binding to a driver."""
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    rows = (
        (f"`pip install '.[{extra}]'`", driver, code(release))
        for extra, driver in DRIVERS.items()
        for release in re.findall(rf'^{extra} = \["nvidia-ml-py ([^"]+)"\]', text, re.MULTILINE)
    )
    yield from table(('command', 'driver', '`nvidia-ml-py`'), rows)


#: Extra → drivers of the same generation.
DRIVERS = {
    'cuda10': 'R410 to R440 (CUDA 10)',
    'cuda11': 'R450 to R520 (CUDA 11)',
    'cuda12': 'R525 to R575 (CUDA 12)',
    'cuda13': 'R580 and newer (CUDA 13)',
}


def options_as_code(text: str) -> str:
    """Format the options in a help text as code."""
    return re.sub(r'(?<![\w-])--[a-z][\w-]*(?:=[\w-]+)?', lambda match: code(match.group()), text)


def options(command: str) -> Iterator[str]:
    """Yield a table of options for each group of a command's parser, with the help texts of the program."""
    parser = PARSERS[command]()
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        actions = [each for each in group._group_actions if each.help != argparse.SUPPRESS]
        if not actions:
            continue
        title = (group.title or '')[:1].upper() + (group.title or '')[1:]
        note = f' ({group.description})' if group.description else ''
        yield f'**{options_as_code(title + note)}**'
        yield ''
        rows = []
        for action in actions:
            default = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
            argument = '' if action.nargs == 0 else formatter._format_args(action, default)
            names = ', '.join(map(code, action.option_strings))
            text = ' '.join(formatter._expand_help(action).split())
            rows.append(
                (f'{names} {code(argument) if argument else ""}'.strip(), options_as_code(text))
            )
        yield from table(('option', 'meaning'), rows)
        yield ''


def scenario_keys(name: str) -> Iterator[str]:
    """Yield the table of the keys of a table in scenario files."""
    rows = []
    for key in TABLES[name]:
        default = key.default
        text = '' if default is None or default == '' else code(str(default))
        if default is REQUIRED:
            text = 'required'
        elif isinstance(default, bool):
            text = code(str(default).lower())
        elif key.name in ('pci_device_id', 'pci_subsystem_id'):
            text = code(f'{default:#010x}')
        words = (
            '' if key.words is None or key.words is ERROR_CODES else ', '.join(map(code, key.words))
        )
        meaning = f'{key.help} ({words})' if words else key.help
        if key.same_as:
            meaning += f'; computed: {code(key.same_as)}'
        rows.append((code(key.name), key.kind, text, meaning))
    yield from table(('key', 'kind', 'default', 'meaning'), rows)


def states() -> Iterator[str]:
    """Yield the table of what a GPU is doing; the first state that applies counts."""
    busy = f'{BUSY_PERCENT:.0f} %'
    pausing = (
        f'processes hold it, but its utilization is below {busy} now, or neither its own nor theirs '
        'is measured, as on most MIG devices'
    )
    measured = (
        "its utilization, or if the driver doesn't measure that, the sum of its processes', is at "
        f'least {busy}'
    )
    rows = (
        ('`claimed`', 'free, but claimed with `nvitop run`'),
        ('`free`', f'no process holds it, and its utilization is below {busy}'),
        ('`held 1h`', HELD_RULE),
        ('`busy`', measured),
        ('`in use`', pausing),
        ('`asleep`, `lost`', 'it has no values; its row says why, and what to do'),
    )
    yield from table(('state', 'meaning'), rows)


def device_columns() -> Iterator[str]:
    """Yield the table of the columns of the device list."""
    return column_table(column for column in DEVICE_COLUMNS if column.title)


def xids() -> Iterator[str]:
    """Yield the Xids of each severity and action."""
    groups: dict[tuple[str, str], list[int]] = {}
    for code, xid in sorted(XIDS.items()):
        groups.setdefault((action_of(code).severity, xid.action), []).append(code)
    rows = []
    for severity in SEVERITIES:
        for (its_severity, action), codes in groups.items():
            if its_severity == severity:
                rows.append((ranges(codes), severity, _advice(action)))
    others = ('all others', ACTIONS['support'].severity, _advice('support'))
    return table(('Xids', 'severity', 'what to do'), (*rows, others))


def _advice(action: str) -> str:
    return ACTIONS[action].text.replace('{index}', 'INDEX') or 'Nothing'


def ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers, with the ends of runs of three or more: ``'8, 39 to 41'``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = ([f'{run[0]} to {run[-1]}'] if len(run) > 2 else map(str, run) for run in runs)
    return ', '.join(text for part in parts for text in part)


def tree_columns() -> Iterator[str]:
    """Yield the table of the columns of the tree."""
    return measured_table(TREE_COLUMNS)


def user_columns() -> Iterator[str]:
    """Yield the table of the columns of the list of users."""
    return measured_table(USER_COLUMNS)


#: Command → its parser.
PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    'nvitop': make_parser,
    **{f'nvitop {command.name}': command.load().make_parser for command in COMMANDS},
    NVISEL.name: NVISEL.load().make_parser,
}


def markdown(lines: Iterable[str]) -> str:
    """Return generated lines for a page, with an empty line before and after them."""
    text = '\n'.join(lines).rstrip('\n')
    return f'\n{text}\n\n'
