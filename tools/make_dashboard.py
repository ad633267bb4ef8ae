"""The Grafana dashboard share/grafana/nvitop.json, made from a table of panels by ``make share``."""

from __future__ import annotations

import json
from typing import Any, Dict, NamedTuple, Tuple

UID = 'nvitop-exporter'
#: Version of the structure: Grafana 11 and newer read it, and later ones upgrade it.
SCHEMA_VERSION = 39
_DATASOURCE = {'type': 'prometheus', 'uid': '${datasource}'}
#: Labels that the variables of the dashboard select, for all series and for those of GPUs.
_HOST = 'job=~"$job",instance=~"$instance"'
_GPU = f'{_HOST},gpu=~"$gpu"'
#: Without MIG devices, whose values are parts of those of their GPU.
_WHOLE = f'{_GPU},mig_uuid=""'
_BY_GPU = '{{instance}} GPU {{gpu}}'

#: A query: PromQL and the names of its series.
Query = Tuple[str, str]
Panel = Dict[str, Any]


class Shape(NamedTuple):
    """Kind and size of a panel. Grafana's grid has 24 columns."""

    kind: str
    width: int
    height: int


_STAT, _GRAPH = Shape('stat', 4, 4), Shape('timeseries', 12, 8)
_WIDE, _TABLE = Shape('state-timeline', 12, 8), Shape('table', 24, 8)


class Row(NamedTuple):
    """Panels under a heading: shape, title, unit of Grafana, queries."""

    title: str
    panels: list[tuple[Shape, str, str, list[Query]]]


def _gpu(name: str, legend: str = _BY_GPU) -> list[Query]:
    return [(f'nvitop_gpu_{name}{{{_WHOLE}}}', legend)]


_MEMORY = 'nvitop_gpu_memory_{}_bytes{{{}}}'
_BY_HOST = 'by (instance)'

ROWS = (
    Row(
        'Fleet',
        [
            (_STAT, 'Hosts', 'none', [(f'count(nvitop_build_info{{{_HOST}}})', '')]),
            (_STAT, 'GPUs', 'none', [(f'count(nvitop_gpu_up{{{_WHOLE}}})', '')]),
            (
                _STAT,
                'GPUs that do not respond',
                'none',
                [(f'count(nvitop_gpu_up{{{_WHOLE}}} == 0) or vector(0)', '')],
            ),
            (
                _STAT,
                'Findings',
                'none',
                [(f'count(nvitop_gpu_health{{{_GPU}}} >= 2) or vector(0)', '')],
            ),
            (
                _STAT,
                'GPU utilization',
                'percentunit',
                [(f'avg(nvitop_gpu_utilization_ratio{{{_WHOLE}}})', '')],
            ),
            (_STAT, 'Power', 'watt', [(f'sum(nvitop_gpu_power_usage_watts{{{_WHOLE}}})', '')]),
            (
                _TABLE,
                'Hosts: utilization, memory, power, temperature, users',
                'short',
                [
                    (f'avg {_BY_HOST} (nvitop_gpu_utilization_ratio{{{_WHOLE}}})', 'utilization'),
                    (
                        (
                            f'sum {_BY_HOST} ({_MEMORY.format("used", _WHOLE)})'
                            f' / sum {_BY_HOST} ({_MEMORY.format("total", _WHOLE)})'
                        ),
                        'memory',
                    ),
                    (f'sum {_BY_HOST} (nvitop_gpu_power_usage_watts{{{_WHOLE}}})', 'power'),
                    (f'max {_BY_HOST} (nvitop_gpu_temperature_celsius{{{_WHOLE}}})', 'hottest'),
                    (f'count {_BY_HOST} (nvitop_gpu_up{{{_WHOLE}}})', 'GPUs'),
                ],
            ),
            (
                _TABLE,
                'Findings: 1 info, 2 warning, 3 critical',
                'none',
                [
                    (
                        f'max by (instance, gpu, uuid, kind) (nvitop_gpu_health{{{_GPU}}}) >= 2',
                        'severity',
                    )
                ],
            ),
        ],
    ),
    Row(
        'GPUs',
        [
            (_GRAPH, 'Utilization', 'percentunit', _gpu('utilization_ratio')),
            (_GRAPH, 'Memory used', 'bytes', _gpu('memory_used_bytes')),
            (_GRAPH, 'Power', 'watt', _gpu('power_usage_watts')),
            (_GRAPH, 'Temperature', 'celsius', _gpu('temperature_celsius')),
            (_GRAPH, 'SM clock', 'hertz', _gpu('sm_clock_hertz')),
            (
                _GRAPH,
                'Energy in the last hour',
                'joule',
                [(f'increase(nvitop_gpu_energy_joules_total{{{_WHOLE}}}[1h])', _BY_GPU)],
            ),
        ],
    ),
    Row(
        'Details of GPUs',
        [
            (
                _GRAPH,
                'PCIe traffic',
                'Bps',
                [
                    (f'nvitop_gpu_pcie_{way}_throughput_bytes_per_second{{{_WHOLE}}}', legend)
                    for way, legend in (('rx', f'{_BY_GPU} in'), ('tx', f'{_BY_GPU} out'))
                ],
            ),
            (
                _GRAPH,
                'NVLink traffic',
                'Bps',
                [
                    (f'nvitop_gpu_nvlink_{way}_throughput_bytes_per_second{{{_WHOLE}}}', legend)
                    for way, legend in (('rx', f'{_BY_GPU} in'), ('tx', f'{_BY_GPU} out'))
                ],
            ),
            (
                _WIDE,
                'Reasons for lower clocks',
                'none',
                [
                    (
                        (
                            'max by (instance, gpu, reason) '
                            f'(nvitop_gpu_clock_event_active{{{_WHOLE},reason!="gpu_idle"}}) > 0'
                        ),
                        f'{_BY_GPU} {{{{reason}}}}',
                    )
                ],
            ),
            (
                _WIDE,
                'GPU responds',
                'none',
                _gpu('up'),
            ),
            (
                _GRAPH,
                'Memory bandwidth utilization',
                'percentunit',
                _gpu('memory_utilization_ratio'),
            ),
            (
                _GRAPH,
                'ECC errors since the driver was loaded',
                'none',
                [
                    (
                        f'nvitop_gpu_ecc_errors_total{{{_WHOLE},counter="volatile"}}',
                        f'{_BY_GPU} {{{{error}}}}',
                    )
                ],
            ),
        ],
    ),
    Row(
        'Users',
        [
            (
                _GRAPH,
                'GPU memory by user',
                'bytes',
                [(f'sum by (user) (nvitop_user_gpu_memory_bytes{{{_GPU}}})', '{{user}}')],
            ),
            (
                _GRAPH,
                'GPUs by user',
                'none',
                [
                    (
                        (
                            'count by (user) (max by (user, instance, gpu) '
                            f'(nvitop_user_gpu_processes{{{_GPU}}}))'
                        ),
                        '{{user}}',
                    )
                ],
            ),
            (
                _TABLE,
                'GPU time in the last day (seconds × GPUs)',
                's',
                [
                    (
                        f'sum by (user) (increase(nvitop_user_gpu_seconds_total{{{_HOST}}}[1d]))',
                        'GPU time',
                    )
                ],
            ),
        ],
    ),
    Row(
        'Exporter',
        [
            (
                _WIDE,
                'Driver responds',
                'none',
                [(f'nvitop_last_collect_success{{{_HOST}}}', '{{instance}}')],
            ),
            (
                _GRAPH,
                'Duration of a sample',
                's',
                [(f'nvitop_last_collect_duration_seconds{{{_HOST}}}', '{{instance}}')],
            ),
        ],
    ),
)


def dashboard() -> str:
    """Return the dashboard as JSON."""
    panels: list[Panel] = []
    y = 0
    for row in ROWS:
        panels.append(
            {
                'collapsed': False,
                'gridPos': {'h': 1, 'w': 24, 'x': 0, 'y': y},
                'id': len(panels) + 1,
                'panels': [],
                'title': row.title,
                'type': 'row',
            }
        )
        x, y, height = 0, y + 1, 0
        for shape, title, unit, queries in row.panels:
            if x + shape.width > 24:
                x, y, height = 0, y + height, 0
            panels.append(_panel(len(panels) + 1, shape, (x, y), title, unit, queries))
            x, height = x + shape.width, max(height, shape.height)
        y += height
    made = {
        'annotations': {'list': []},
        'description': 'NVIDIA GPUs of many hosts, from nvitop exporter.',
        'editable': True,
        'fiscalYearStartMonth': 0,
        'graphTooltip': 1,
        'id': None,
        'links': [],
        'panels': panels,
        'refresh': '10s',
        'schemaVersion': SCHEMA_VERSION,
        'tags': ['gpu', 'nvidia', 'nvitop'],
        'templating': {'list': _variables()},
        'time': {'from': 'now-1h', 'to': 'now'},
        'timepicker': {},
        'timezone': '',
        'title': 'nvitop',
        'uid': UID,
        'version': 1,
        'weekStart': '',
    }
    return json.dumps(made, indent=2) + '\n'


def _panel(
    number: int, shape: Shape, place: tuple[int, int], title: str, unit: str, queries: list[Query]
) -> Panel:
    is_table = shape.kind == 'table'
    panel: Panel = {
        'datasource': _DATASOURCE,
        'fieldConfig': {'defaults': {'unit': unit}, 'overrides': []},
        'gridPos': {'h': shape.height, 'w': shape.width, 'x': place[0], 'y': place[1]},
        'id': number,
        'options': _OPTIONS[shape.kind],
        'targets': [
            {
                'datasource': _DATASOURCE,
                'editorMode': 'code',
                'expr': expression,
                'format': 'table' if is_table else 'time_series',
                'instant': is_table or shape.kind == 'stat',
                'legendFormat': legend or '__auto',
                'range': not (is_table or shape.kind == 'stat'),
                'refId': chr(ord('A') + place_of),
            }
            for place_of, (expression, legend) in enumerate(queries)
        ],
        'title': title,
        'type': shape.kind,
    }
    if is_table:
        panel.update(_table(queries))
    return panel


_OPTIONS: dict[str, Panel] = {
    'stat': {
        'colorMode': 'value',
        'graphMode': 'none',
        'reduceOptions': {'calcs': ['lastNotNull'], 'fields': '', 'values': False},
    },
    'timeseries': {
        'legend': {'displayMode': 'list', 'placement': 'bottom', 'showLegend': True},
        'tooltip': {'mode': 'multi', 'sort': 'desc'},
    },
    'state-timeline': {'mergeValues': True, 'showValue': 'never'},
    'table': {'showHeader': True},
}
#: Column of the table of hosts → unit.
_UNITS = {
    'utilization': 'percentunit',
    'memory': 'percentunit',
    'power': 'watt',
    'hottest': 'celsius',
}


def _table(queries: list[Query]) -> Panel:
    """Return what joins the results of several queries in one table."""
    letters = [chr(ord('A') + number) for number in range(len(queries))]
    names = {
        f'Value #{letter}' if len(letters) > 1 else 'Value': legend
        for letter, (_, legend) in zip(letters, queries)
    }
    transformations: list[Panel] = []
    if len(letters) > 1:
        transformations.append({'id': 'merge', 'options': {}})
    organize = {'excludeByName': {'Time': True}, 'indexByName': {}, 'renameByName': names}
    transformations.append({'id': 'organize', 'options': organize})
    overrides = [
        {
            'matcher': {'id': 'byName', 'options': legend},
            'properties': [{'id': 'unit', 'value': _UNITS[legend]}],
        }
        for _, legend in queries
        if legend in _UNITS
    ]
    made: Panel = {'transformations': transformations}
    if overrides:
        made['fieldConfig'] = {'defaults': {}, 'overrides': overrides}
    return made


def _variables() -> list[Panel]:
    made: list[Panel] = [
        {
            'current': {},
            'hide': 0,
            'includeAll': False,
            'label': 'Data source',
            'multi': False,
            'name': 'datasource',
            'options': [],
            'query': 'prometheus',
            'refresh': 1,
            'regex': '',
            'type': 'datasource',
        }
    ]
    selected = ''
    for name, label, title in (
        ('job', 'job', 'Job'),
        ('instance', 'instance', 'Host'),
        ('gpu', 'gpu', 'GPU'),
    ):
        metric = 'nvitop_gpu_up' if name == 'gpu' else 'nvitop_build_info'
        query = f'label_values({metric}{{{selected}}}, {label})'
        selected = f'{selected},{name}=~"${name}"'.lstrip(',')
        made.append(
            {
                'allValue': '.*',
                'current': {'selected': True, 'text': ['All'], 'value': ['$__all']},
                'datasource': _DATASOURCE,
                'definition': query,
                'hide': 0,
                'includeAll': True,
                'label': title,
                'multi': True,
                'name': name,
                'options': [],
                'query': {'query': query, 'refId': name},
                'refresh': 2,
                'regex': '',
                'sort': 3,
                'type': 'query',
            }
        )
    return made
