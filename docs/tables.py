"""Write what the documentation has from tables: ``python -m docs.tables``.

What stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is made from the tables that the
program itself uses, so the two cannot differ; a test compares them.
"""

from __future__ import annotations

import pathlib
import re
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from nvitop.api.device import Device
from nvitop.api.extended_metrics import EXTENDED_METRICS
from nvitop.api.metrics import METRICS, METRICS_BY_NAME, PROCESS_METRICS
from nvitop.console.config import SETTINGS, Setting
from nvitop.console.options import THEME_NAMES
from nvitop.gui.model.columns import COLUMNS, PROBLEM_COLUMNS, TREE_COLUMNS, USER_COLUMNS, Column
from nvitop.gui.model.graphs import GRAPHS
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.help import all_groups
from nvitop.gui.state.ordering import ORDERS
from nvitop.gui.state.rebinding import USUAL_KEYS

ROOT = pathlib.Path(__file__).parent.parent

#: What stands in the device panel → the metrics it is made of.
DEVICE_CELLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('GPU', ('index',)),
    ('Name', ('name',)),
    ('Persistence-M', ('persistence_mode',)),
    ('TCC/WDDM', ('current_driver_model',)),
    ('Bus-Id', ('bus_id',)),
    ('Disp.A', ('display_active',)),
    ('Volatile Uncorr. ECC', ('total_volatile_uncorrected_ecc_errors',)),
    ('MIG M.', ('mig_mode',)),
    ('Fan', ('fan_speed',)),
    ('Temp', ('temperature',)),
    ('Perf', ('performance_state',)),
    ('Pwr:Usage/Cap', ('power_usage', 'power_limit')),
    ('Memory-Usage', ('memory_used', 'memory_total')),
    ('GPU-Util', ('gpu_utilization',)),
    ('Compute M.', ('compute_mode',)),
    ('BAR1 (MIG devices)', ('bar1_memory_used', 'bar1_memory_percent')),
)
#: The same for the bars and the details.
BARS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('MEM', ('memory_percent', 'memory_used')),
    ('MBW', ('memory_utilization', 'memory_clock')),
    ('UTL', ('gpu_utilization', 'sm_clock')),
    ('PWR', ('power_usage', 'power_limit')),
)
DETAILS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('Link', ('pcie_link_generation', 'pcie_link_width')),
    ('Link!', ('pcie_link_down_trained',)),
    ('PCIe TX', ('pcie_tx_throughput',)),
    ('PCIe RX', ('pcie_rx_throughput',)),
    ('Enc', ('encoder_utilization',)),
    ('Dec', ('decoder_utilization',)),
    ('NVLink TX', ('nvlink_tx_throughput',)),
    ('NVLink RX', ('nvlink_rx_throughput',)),
    ('Mem', ('memory_temperature',)),
    ('(energy)', ('total_energy',)),
    ('(last)', ('clock_event_reasons',)),
)
#: Metric → where it comes from, where its method's first words do not say it.
SOURCES = {
    'index': '`nvmlDeviceGetHandleByIndex`',
    'memory_percent': 'the two of Memory-Usage',
    'bar1_memory_percent': '`nvmlDeviceGetBAR1MemoryInfo`',
    'pcie_link_down_trained': '`nvmlDeviceGetMaxPcieLinkGeneration`, `nvmlDeviceGetMaxPcieLinkWidth`',
    'pcie_tx_throughput': '`NVML_FI_DEV_PCIE_COUNT_TX_BYTES`, else `nvmlDeviceGetPcieThroughput`',
    'pcie_rx_throughput': '`NVML_FI_DEV_PCIE_COUNT_RX_BYTES`, else `nvmlDeviceGetPcieThroughput`',
    'nvlink_tx_throughput': '`NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX`',
    'nvlink_rx_throughput': '`NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX`',
}
#: Column of processes → unit, and where it comes from.
PROCESS_SOURCES: dict[str, tuple[str, str]] = {
    'gpu': ('', 'NVML index, PCI bus order'),
    'pid': ('', '`nvmlDeviceGetComputeRunningProcesses`, `…Graphics…`, `…MPSCompute…`'),
    'type': ('', 'in which of these lists it is'),
    'user': ('', 'psutil `username`'),
    'gpu_memory': ('B', 'the lists above (`usedGpuMemory`)'),
    'gpu_memory_percent': ('%', 'the same / `memory_total` of the device'),
    'sm': (
        '%',
        '`nvmlDeviceGetProcessUtilization` (`smUtil`), mean of all samples since the last read',
    ),
    'gmbw': ('%', 'the same (`memUtil`)'),
    'encoder': ('%', 'the same (`encUtil`)'),
    'decoder': ('%', 'the same (`decUtil`)'),
    'cpu': ('% of a core', 'psutil `cpu_percent`'),
    'memory': ('%', 'psutil `memory_percent`'),
    'host_memory': ('B', 'psutil `memory_info().rss`'),
    'time': ('', 'now − psutil `create_time`'),
    'command': ('', 'psutil `cmdline`, quoted for a shell'),
}
#: The same of the tree and of the users, where it is not that of processes.
TREE_SOURCES: dict[str, tuple[str, str]] = {
    **PROCESS_SOURCES,
    'pid': ('', 'psutil `pids`, `ppid`'),
    'device': ('', 'the lists of processes on each GPU'),
    'threads': ('count', 'psutil `num_threads`'),
}
USER_SOURCES: dict[str, tuple[str, str]] = {
    'user': PROCESS_SOURCES['user'],
    'processes': ('count', 'PIDs of the rows of processes'),
    'gpu_memory': ('B', 'sum of `GPU-MEM`'),
    'gpu_memory_percent': ('%', 'the same / sum of `memory_total`'),
    'sm': ('%', 'sum of `%SM` on each device'),
    'devices': ('', 'NVML index, PCI bus order'),
}
#: What stands in the host panel: title, what it is, unit, and where it comes from.
HOST: tuple[tuple[str, str, str, str], ...] = (
    (
        'Load Average',
        'processes that run or wait for a CPU or disk, mean of 1, 5, 15 minutes; `LOAD` of 1',
        'count',
        '`getloadavg`',
    ),
    (
        'CPU',
        'share of time in which CPUs were busy, mean of all; waiting for disks is idle',
        '%',
        'psutil `cpu_times`',
    ),
    ('UPTIME', 'since the machine was started, sleep included', 'h:m:s', 'psutil `boot_time`'),
    ('MEM', 'memory in use (what is not available) / total', '%', 'psutil `virtual_memory`'),
    ('USED', 'memory in use', 'B', 'the same'),
    ('SWP', 'swap space in use / total', '%', 'psutil `swap_memory`'),
)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield f'| {" | ".join(heading)} |'
    yield f'|{" --- |" * len(heading)}'
    for row in rows:
        yield f'| {" | ".join(cell.replace("|", chr(92) + "|") for cell in row)} |'


def code(text: str) -> str:
    """Text as code, also where it holds a backtick."""
    return f'`` {text} ``' if '`' in text else f'`{text}`'


def keys() -> Iterator[str]:
    """Every key, from the table of bindings and from what the help says beside it."""
    for group in all_groups(AppState()):
        if group.kind == 'legend':
            continue
        yield f'**{group.heading}**'
        yield ''
        rows = (
            (' '.join(code(key) for key in entry.keys.split()), entry.text)
            for entry in group.entries
        )
        yield from table(('keys', 'what they do'), rows)
        yield ''


def metric_rows(cells: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Sequence[str]]:
    """What is shown, unit, meaning and source of each metric."""
    for shown, names in cells:
        for name in names:
            metric = METRICS_BY_NAME[name]
            found = re.findall(
                r'``(nvml\w+|NVML_\w+)``', getattr(Device, metric.method).__doc__ or ''
            )
            source = ', '.join(dict.fromkeys(code(each) for each in found[:2]))
            source = SOURCES.get(name) or source or 'derived'
            query = code(metric.query) if metric.query else ''
            title = shown if shown.startswith('(') else code(shown)
            yield (title, metric.help, metric.unit, source, query)


def metric_table(cells: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """A table of metrics with their sources."""
    heading = ('shown', 'what it is', 'unit', 'NVML', '`nvidia-smi --query-gpu`')
    yield from table(heading, metric_rows(cells))


def process_columns() -> Iterator[str]:
    """The columns of the process panel."""
    rows = []
    for column in COLUMNS:
        unit, source = PROCESS_SOURCES[column.name]
        order = next((code(f'o{o.letter}') for o in ORDERS if o.name == column.order), '')
        title = code(column.title) if column.title else '(no heading)'
        rows.append((title, code(column.name), column.help, unit, source, order))
    yield from table(('column', 'name', 'what it is', 'unit', 'from', 'sorted by'), rows)


def column_table(columns: Sequence[Column]) -> Iterator[str]:
    """Columns of another list."""
    yield from table(('column', 'what it is'), ((code(c.title), c.help) for c in columns))


def measured_table(
    columns: Sequence[Column], sources: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    """The same with units and where the numbers come from."""
    rows = ((code(c.title), c.help, *sources[c.name]) for c in columns)
    yield from table(('column', 'what it is', 'unit', 'from'), rows)


def host() -> Iterator[str]:
    """What stands in the host panel."""
    rows = ((code(title), *rest) for title, *rest in HOST)
    yield from table(('shown', 'what it is', 'unit', 'from'), rows)


def graphs() -> Iterator[str]:
    """What the graphs of the devices can plot."""
    rows = ((code(g.title), METRICS_BY_NAME[g.metric].help, g.unit, code(g.metric)) for g in GRAPHS)
    yield from table(('title', 'what it is', 'unit', 'metric'), rows)


def metrics() -> Iterator[str]:
    """Everything that can be measured on a device."""
    heading = ('name', 'what it is', 'unit', 'asked', 'MIG devices', '`nvidia-smi --query-gpu`')
    rows = (
        (
            code(metric.name),
            metric.help,
            metric.unit,
            'once' if metric.tier == 'static' else metric.tier,
            'yes' if metric.mig else '',
            code(metric.query) if metric.query else '',
        )
        for metric in METRICS
    )
    yield from table(heading, rows)


def extended_metrics() -> Iterator[str]:
    """What is asked of a device only by name."""
    heading = ('name', 'what it is', 'unit', '`nvidia-smi --query-gpu`')
    rows = ((code(m.name), m.help, m.unit, code(m.query or '')) for m in EXTENDED_METRICS)
    yield from table(heading, rows)


def process_metrics() -> Iterator[str]:
    """Everything that is known of a process on a device."""
    heading = ('name', 'what it is', 'unit', '`nvidia-smi --query-compute-apps`')
    rows = (
        (code(metric.name), metric.help, metric.unit, code(metric.query) if metric.query else '')
        for metric in PROCESS_METRICS
    )
    yield from table(heading, rows)


def settings() -> Iterator[str]:
    """The keys of the configuration file."""
    kinds = {
        'bool': '`true` or `false`',
        'seconds': 'seconds',
        'thresholds': 'two percentages',
        'names': 'a list of names',
        'keys': 'a table: names of actions and lists of keys',
    }
    rows = (
        (
            code(setting.name),
            setting.help,
            kinds.get(setting.kind) or 'one of ' + ', '.join(map(code, _words(setting))),
        )
        for setting in SETTINGS
    )
    yield from table(('key', 'meaning', 'value'), rows)


def actions() -> Iterator[str]:
    """What keys can be chosen for."""
    rows = ((code(name), ' '.join(map(code, keys))) for name, keys in USUAL_KEYS.items())
    yield from table(('action', 'usual keys'), rows)


def _words(setting: Setting) -> Sequence[str]:
    return setting.choices or {'theme': THEME_NAMES}[setting.name]


#: Keys that the README has, by the first of their names.
FIRST_KEYS = (
    'Up',
    'Space',
    'T',
    '\\',
    't',
    'e',
    'Enter',
    'U',
    'd',
    'C',
    '.',
    '/',
    '!',
    'z',
    'h',
    'q',
)


def first_keys() -> Iterator[str]:
    """The keys to begin with."""
    entries = [
        entry
        for group in all_groups(AppState())
        if group.heading in ('View', 'Moving and selecting', 'Processes', 'Screens')
        or group.heading.startswith('Sorting')
        for entry in group.entries
    ]
    chosen = [
        next(entry for entry in entries if entry.keys.split()[0] == key) for key in FIRST_KEYS
    ]
    rows = ((' '.join(code(key) for key in entry.keys.split()), entry.text) for entry in chosen)
    yield from table(('keys', 'what they do'), rows)


def bindings() -> Iterator[str]:
    """The extras that choose a binding by the driver."""
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    rows = (
        (f"`pip install '.[{extra}]'`", driver, code(release))
        for extra, driver in DRIVERS.items()
        for release in re.findall(rf'^{extra} = \["nvidia-ml-py ([^"]+)"\]', text, re.MULTILINE)
    )
    yield from table(('command', 'driver', '`nvidia-ml-py`'), rows)


#: Extra → drivers whose generation it is.
DRIVERS = {
    'cuda10': 'R410 to R440 (CUDA 10)',
    'cuda11': 'R450 to R520 (CUDA 11)',
    'cuda12': 'R525 to R575 (CUDA 12)',
    'cuda13': 'R580 and newer (CUDA 13)',
}


def environment() -> Iterator[str]:
    """The first rows of the variables on the page of the report, which a test compares."""
    page = (ROOT / 'docs' / 'report.md').read_text(encoding='utf-8')
    lines = page[page.index('## Environment') :].splitlines()
    names = ('NVITOP_', 'CUDA_', 'ANSI_', 'LOGLEVEL')
    yield from lines[2:4]
    yield from (line for line in lines if line.startswith(tuple(f'| `{name}' for name in names)))


Sections = Mapping[str, Callable[[], Iterator[str]]]

#: Page → what is made of it.
PAGES: dict[str, Sections] = {
    'README.md': {'bindings': bindings, 'keys': first_keys, 'environment': environment},
    'docs/monitor.md': {
        'keys': keys,
        'device cells': lambda: metric_table(DEVICE_CELLS),
        'bars': lambda: metric_table(BARS),
        'details': lambda: metric_table(DETAILS),
        'process columns': process_columns,
        'graphs': graphs,
        'host': host,
        'tree columns': lambda: measured_table(TREE_COLUMNS, TREE_SOURCES),
        'user columns': lambda: measured_table(USER_COLUMNS, USER_SOURCES),
        'problem columns': lambda: column_table(PROBLEM_COLUMNS),
    },
    'docs/reference/metrics.md': {
        'metrics': metrics,
        'extended metrics': extended_metrics,
        'process metrics': process_metrics,
    },
    'docs/reference/configuration.md': {'settings': settings, 'actions': actions},
}


def rewrite(page: str, sections: Sections) -> str:
    """The page with what is made from tables made anew; every section must be in it once."""
    for name, lines in sections.items():
        begin, end = f'<!-- begin {name} -->\n', f'<!-- end {name} -->'
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f'the page must have one {begin.strip()} … {end}')
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        text = '\n'.join(lines()).rstrip('\n')
        page = f'{before}{begin}\n{text}\n\n{end}{after}'
    return page


def main() -> None:
    """Rewrite the pages."""
    for name, sections in PAGES.items():
        path = ROOT / name
        path.write_text(rewrite(path.read_text(encoding='utf-8'), sections), encoding='utf-8')


if __name__ == '__main__':
    main()
