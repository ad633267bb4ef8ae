"""The Grafana dashboard share/grafana/nvitop.json, made from a table of panels by ``make share``."""

from __future__ import annotations

import json
from typing import Any, Dict, NamedTuple

UID = 'nvitop-exporter'
#: Version of the structure: Grafana 11 and newer read it, and later ones upgrade it.
SCHEMA_VERSION = 39
#: Maximum number of lines in a graph.
MOST = 20
_DATASOURCE = {'type': 'prometheus', 'uid': '${datasource}'}
#: Labels that the variables of the dashboard select, for all series and for those of GPUs.
_HOST = 'job=~"$job",hostname=~"$hostname"'
_GPU = f'{_HOST},gpu=~"$gpu"'
#: Without MIG devices, whose values are parts of those of their GPU.
_WHOLE = f'{_GPU},mig_uuid=""'
_BY_GPU = '{{hostname}} GPU {{gpu}}'
_DEVICE = 'job, instance, gpu, uuid, mig_uuid'
#: This dashboard for the host of a row or of a series.
_TO_HOST = f'/d/{UID}?var-hostname=%s&${{datasource:queryparam}}&${{__url_time_range}}'

Panel = Dict[str, Any]
#: Number → color from this number on; the first applies to everything below.
Steps = Dict[float, str]

_OK_BAD: Steps = {0: 'green', 1: 'red'}
_OK_WARN: Steps = {0: 'green', 1: 'orange'}
_NEUTRAL: Steps = {0: 'text'}
_YES_NO = {0: ('no', 'red'), 1: ('yes', 'green')}
_SEVERITIES = {1: ('info', 'blue'), 2: ('warning', 'orange'), 3: ('critical', 'red')}


class Query(NamedTuple):
    """PromQL, and the name of its series or of its column."""

    expr: str
    legend: str = ''
    #: Unit of a column.
    unit: str = ''
    #: Words and colors of the values of a column.
    words: dict[int, tuple[str, str]] | None = None


class View(NamedTuple):
    """A panel. Grafana's grid has 24 columns."""

    kind: str
    title: str
    about: str
    queries: list[Query]
    unit: str = 'none'
    width: int = 12
    height: int = 8
    steps: Steps | None = None
    words: dict[int, tuple[str, str]] | None = None
    #: Ends of the axis.
    ends: tuple[float | None, float | None] = (0, None)
    is_stacked: bool = False


def _stat(title: str, about: str, expr: str, unit: str = 'none', steps: Steps = _NEUTRAL) -> View:
    return View('stat', title, about, [Query(expr)], unit, 3, 4, steps)


def _table(title: str, about: str, *queries: Query, width: int = 12) -> View:
    return View('table', title, about, list(queries), 'none', width)


def _graph(title: str, about: str, unit: str, *queries: Query, **more: Any) -> View:
    return View('timeseries', title, about, list(queries), unit, **more)


def _top(
    selector: str, legend: str = _BY_GPU, form: str = '{}', which: str = f'topk({MOST}'
) -> Query:
    """Select the series that are highest (or, with ``bottomk``, lowest) in the mean of the time shown.

    ``form`` is PromQL around them; ``{at}`` fixes a series of it at the end of that time.
    topk() alone chooses others at each step, so that a graph has far more lines.
    """
    shown = form.replace('{}', selector).replace('{at}', '')
    mean = form.replace('{}', f'avg_over_time({selector}[$__range] @ end())')
    return Query(f'{shown} and {which}, {mean.replace("{at}", " @ end()")})', legend)


def _top_gpus(name: str, labels: str = _WHOLE, legend: str = _BY_GPU, **more: str) -> Query:
    return _top(f'nvitop_gpu_{name}{{{labels}}}', legend, **more)


def _both_ways(name: str) -> list[Query]:
    return [
        _top_gpus(
            f'{name}_{way}_throughput_bytes_per_second',
            legend=f'{_BY_GPU} {word}',
            which=f'topk({MOST // 2}',
        )
        for way, word in (('rx', 'in'), ('tx', 'out'))
    ]


def _day(name: str, by: str, scale: str = '') -> str:
    """Return the sums of a counter in the last day, the highest ones."""
    return f'topk({MOST}, sum by ({by}) (increase({name}{{{_HOST}}}[1d])){scale})'


_OF_HOST = 'by (hostname)'
_JOB = 'user, owner_kind, owner_id, owner_name'
_HOURS, _KWH = ' / 3600', ' / 3.6e6'
_HELD = f'nvitop_gpu_state{{{_GPU},state="held"}} == 1'
_HOLDERS = f'(nvitop_user_gpu_memory_bytes{{{_GPU}}} > 16777216 and on ({_DEVICE}) {_HELD})'
_MIG = f'{_GPU},mig_uuid!=""'

ROWS: dict[str, list[View]] = {
    'Fleet': [
        _stat('Hosts', 'Hosts whose exporter is up.', f'count(nvitop_build_info{{{_HOST}}})'),
        _stat(
            'GPUs',
            'GPUs that the driver lists, without MIG devices.',
            f'count(nvitop_gpu_up{{{_WHOLE}}} or nvitop_gpu_asleep{{{_GPU}}})',
        ),
        _stat(
            'Not responding',
            'GPUs that are lost or do not respond.',
            f'count(nvitop_gpu_up{{{_WHOLE}}} == 0) or vector(0)',
            steps=_OK_BAD,
        ),
        _stat(
            'Missing',
            'GPUs on the PCI bus that the driver does not list.',
            f'sum(nvitop_gpu_missing{{{_HOST}}}) or vector(0)',
            steps=_OK_BAD,
        ),
        _stat(
            'GPUs with findings',
            'GPUs with a warning or a critical finding; the row Health lists them.',
            f'count(count by ({_DEVICE}) (nvitop_gpu_health{{{_GPU}}} >= 2)) or vector(0)',
            steps=_OK_WARN,
        ),
        _stat(
            'Held, but idle',
            'GPUs with memory of processes, but no kernel for 10 minutes.',
            f'count(nvitop_gpu_state{{{_WHOLE},state="held"}} == 1) or vector(0)',
            steps=_OK_WARN,
        ),
        _stat(
            'Idle',
            'GPUs without processes.',
            f'count(nvitop_gpu_state{{{_WHOLE},state="free"}} == 1) or vector(0)',
        ),
        _stat(
            'Power',
            'Power of all GPUs.',
            f'sum(nvitop_gpu_power_usage_watts{{{_WHOLE}}})',
            'watt',
        ),
        _graph(
            'GPU utilization: mean and quartiles',
            'Time in which kernels ran, over all GPUs.',
            'percentunit',
            Query(f'avg(nvitop_gpu_utilization_ratio{{{_WHOLE}}})', 'mean'),
            *(
                Query(f'quantile({share}, nvitop_gpu_utilization_ratio{{{_WHOLE}}})', name)
                for share, name in ((0.25, 'lower quartile'), (0.5, 'median'), (0.75, 'upper'))
            ),
            ends=(0, 1),
        ),
        _graph(
            'GPUs by state',
            'Busy, held by processes that have run no kernel for 10 minutes, and free.',
            'none',
            Query(f'sum by (state) (nvitop_gpu_state{{{_WHOLE}}})', '{{state}}'),
            is_stacked=True,
        ),
        _table(
            'Hosts',
            'Click on a host to see its GPUs in the rows below.',
            Query(
                f'count {_OF_HOST} (nvitop_gpu_up{{{_WHOLE}}} or nvitop_gpu_asleep{{{_GPU}}})',
                'GPUs',
            ),
            Query(f'count {_OF_HOST} (nvitop_gpu_health{{{_GPU}}} >= 2)', 'findings'),
            Query(f'sum {_OF_HOST} (nvitop_gpu_state{{{_WHOLE},state="free"}})', 'free'),
            Query(f'sum {_OF_HOST} (nvitop_gpu_state{{{_WHOLE},state="held"}})', 'held'),
            Query(
                f'avg {_OF_HOST} (nvitop_gpu_utilization_ratio{{{_WHOLE}}})',
                'utilization',
                'percentunit',
            ),
            Query(
                f'sum {_OF_HOST} (nvitop_gpu_memory_used_bytes{{{_WHOLE}}})'
                f' / sum {_OF_HOST} (nvitop_gpu_memory_total_bytes{{{_WHOLE}}})',
                'memory',
                'percentunit',
            ),
            Query(
                f'max {_OF_HOST} (nvitop_gpu_temperature_celsius{{{_WHOLE}}})', 'hottest', 'celsius'
            ),
            Query(f'sum {_OF_HOST} (nvitop_gpu_power_usage_watts{{{_WHOLE}}})', 'power', 'watt'),
            Query(
                'count by (hostname) (count by (hostname, user) '
                f'(nvitop_user_gpu_processes{{{_GPU}}}))',
                'users',
            ),
            width=24,
        ),
    ],
    'Health': [
        _table(
            'Warnings and critical findings',
            'What nvitop finds wrong with GPUs. "nvitop health" on the host has evidence and action.',
            Query(
                f'max by (hostname, gpu, kind) (nvitop_gpu_health{{{_GPU}}}) >= 2',
                'severity',
                words=_SEVERITIES,
            ),
        ),
        _graph(
            'GPUs with findings, by kind',
            'Warnings and critical findings.',
            'none',
            _top(f'nvitop_gpu_health{{{_GPU}}}', '{{kind}}', 'count by (kind) ({} >= 2)'),
        ),
        _table(
            'Xid errors in the last day',
            'Errors that the driver announced, and what to do about them.',
            Query(
                f'topk({MOST}, max by (hostname, gpu, xid, action) '
                f'(nvitop_gpu_xid_last_seen_timestamp_seconds{{{_GPU}}}) > time() - 86400) * 1000',
                'last seen',
                'dateTimeFromNow',
            ),
        ),
        _table(
            'Missing GPUs',
            'GPUs on the PCI bus that the driver does not list: reboot, or check power and seating.',
            Query(f'max by (hostname, pci_bus_id) (nvitop_gpu_missing{{{_HOST}}}) == 1', 'missing'),
        ),
        View(
            'state-timeline',
            'GPUs that did not respond',
            f'At most {MOST} GPUs that were lost or hung in the time shown.',
            [
                Query(
                    f'nvitop_gpu_up{{{_WHOLE}}} and bottomk({MOST}, '
                    f'min_over_time(nvitop_gpu_up{{{_WHOLE}}}[$__range] @ end()) == 0)',
                    _BY_GPU,
                )
            ],
            words=_YES_NO,
        ),
        _graph(
            f'ECC errors: the {MOST} GPUs with most',
            'Since the driver was loaded.',
            'none',
            _top_gpus(
                'ecc_errors_total', f'{_WHOLE},counter="volatile"', f'{_BY_GPU} {{{{error}}}}'
            ),
        ),
        _graph(
            f'NVLinks that are down: the {MOST} GPUs with most',
            'Links that are down or connected to nothing.',
            'none',
            _top_gpus('nvlinks_down'),
            steps=_OK_WARN,
        ),
    ],
    'Held, but idle': [
        _table(
            'Who holds GPUs without using them',
            'Users with memory on GPUs or MIG devices on which no kernel ran for 10 minutes.',
            Query(f'count by (user) {_HOLDERS}', 'devices'),
            Query(f'sum by (user) {_HOLDERS}', 'memory', 'bytes'),
        ),
        _table(
            f'GPU-hours held idle in the last day: the {MOST} users with most',
            'Hours of whole GPUs; a MIG device counts by its share.',
            Query(_day('nvitop_user_gpu_held_idle_seconds_total', 'user', _HOURS), 'hours'),
        ),
        _table(
            'Where',
            'Each GPU or MIG device that is held without being used, and its users.',
            Query(f'sum by (hostname, gpu, mig_uuid, user) {_HOLDERS}', 'memory', 'bytes'),
            width=24,
        ),
    ],
    'Users': [
        _graph(
            f'GPU memory: the {MOST} users with most',
            'Device memory of their processes.',
            'bytes',
            _top(f'nvitop_user_gpu_memory_bytes{{{_GPU}}}', '{{user}}', 'sum by (user) ({})'),
        ),
        _graph(
            f'GPUs: the {MOST} users with most',
            'GPUs and MIG devices with processes of the user.',
            'none',
            _top(f'nvitop_user_gpu_processes{{{_GPU}}}', '{{user}}', 'count by (user) ({})'),
        ),
        _table(
            f'GPU-hours used in the last day: the {MOST} users with most',
            'Each GPU counts once: a shared one is divided, and a MIG device counts by its share.',
            Query(_day('nvitop_user_gpu_seconds_total', 'user', _HOURS), 'hours'),
        ),
        _table(
            f'Energy in the last day: the {MOST} users with most',
            'Energy of shared GPUs is divided by utilization.',
            Query(_day('nvitop_user_gpu_energy_joules_total', 'user', _KWH), 'energy', 'kwatth'),
        ),
    ],
    'Jobs': [
        _table(
            'Jobs with most GPUs',
            f'The {MOST} batch jobs, pods, containers, units and sessions with most GPUs. '
            'Needs the option --owners of the exporter.',
            Query(f'topk({MOST}, count by ({_JOB}) (nvitop_gpu_owner_info{{{_GPU}}}))', 'devices'),
            width=24,
        ),
        _table(
            f'GPU-hours used in the last day: the {MOST} jobs with most',
            'Needs the option --owners of the exporter.',
            Query(_day('nvitop_owner_gpu_seconds_total', _JOB, _HOURS), 'hours'),
        ),
        _table(
            f'GPU-hours held idle in the last day: the {MOST} jobs with most',
            'Needs the option --owners of the exporter.',
            Query(_day('nvitop_owner_gpu_held_idle_seconds_total', _JOB, _HOURS), 'hours'),
        ),
    ],
    'GPUs': [
        _graph(
            f'Utilization: the {MOST} busiest GPUs',
            'Time in which kernels ran.',
            'percentunit',
            _top_gpus('utilization_ratio'),
            ends=(0, 1),
        ),
        _graph(
            f'Memory: the {MOST} fullest GPUs',
            'Memory in use, as a share of the memory of the GPU.',
            'percentunit',
            _top_gpus('memory_used_ratio'),
            ends=(0, 1),
        ),
        _graph(
            f'Power: the {MOST} GPUs with most',
            'Power of the board.',
            'watt',
            _top_gpus('power_usage_watts'),
        ),
        _graph(
            f'Temperature: the {MOST} hottest GPUs',
            'Of the chip.',
            'celsius',
            _top_gpus('temperature_celsius'),
        ),
        _graph(
            f'Distance to slowdown: the {MOST} GPUs with least',
            'Degrees below the temperature at which the GPU slows down. Below 0, it is slowed down.',
            'celsius',
            _top(
                f'nvitop_gpu_temperature_celsius{{{_WHOLE}}}',
                form=(
                    f'(nvitop_gpu_temperature_slowdown_threshold_celsius{{{_WHOLE}}}{{at}} '
                    f'- on ({_DEVICE}, hostname) {{}})'
                ),
                which=f'bottomk({MOST}',
            ),
            steps={-1000: 'red', 0: 'orange', 5: 'green'},
            ends=(None, None),
        ),
        _graph(
            'GPUs whose clocks are lowered, by reason',
            'Without "idle". sw_power_cap is usual on busy GPUs; hw_ reasons are not.',
            'none',
            Query(
                f'sum by (reason) (nvitop_gpu_clock_event_active{{{_WHOLE},reason!="gpu_idle"}})',
                '{{reason}}',
            ),
        ),
        _graph(
            f'PCIe traffic: the {MOST // 2} GPUs with most, each way',
            'Into and out of the GPU.',
            'Bps',
            *_both_ways('pcie'),
        ),
        _graph(
            f'NVLink traffic: the {MOST // 2} GPUs with most, each way',
            'Into and out of the GPU.',
            'Bps',
            *_both_ways('nvlink'),
        ),
    ],
    'MIG': [
        _table(
            'MIG devices by profile',
            'How many there are of each profile.',
            Query(f'count by (mig_profile) (nvitop_gpu_info{{{_MIG}}})', 'devices'),
        ),
        _graph(
            'MIG devices by state',
            'Busy, held by processes that have run no kernel for 10 minutes, and free.',
            'none',
            Query(f'sum by (state) (nvitop_gpu_state{{{_MIG}}})', '{{state}}'),
            is_stacked=True,
        ),
        _graph(
            f'Memory: the {MOST} fullest MIG devices',
            'Memory in use, as a share of the memory of the MIG device.',
            'percentunit',
            _top_gpus('memory_used_ratio', _MIG, f'{_BY_GPU} {{{{mig_uuid}}}}'),
            ends=(0, 1),
        ),
        _graph(
            f'MIG devices: the {MOST} users with most',
            'MIG devices with processes of the user.',
            'none',
            _top(f'nvitop_user_gpu_processes{{{_MIG}}}', '{{user}}', 'count by (user) ({})'),
        ),
    ],
    'Energy': [
        _graph(
            'Power of all GPUs',
            'And the highest power that they may draw.',
            'watt',
            Query(f'sum(nvitop_gpu_power_usage_watts{{{_WHOLE}}})', 'power'),
            Query(f'sum(nvitop_gpu_power_limit_watts{{{_WHOLE}}})', 'limit'),
        ),
        _graph(
            f'Power: the {MOST} hosts with most',
            'Power of the GPUs of the host.',
            'watt',
            _top(
                f'nvitop_gpu_power_usage_watts{{{_WHOLE}}}',
                '{{hostname}}',
                f'sum {_OF_HOST} ({{}})',
            ),
        ),
        _table(
            f'Energy of GPUs in the last day: the {MOST} hosts with most',
            'From the energy counters of the GPUs.',
            Query(_day('nvitop_gpu_energy_joules_total', 'hostname', _KWH), 'energy', 'kwatth'),
        ),
        _table(
            f'Energy of free GPUs in the last day: the {MOST} hosts with most',
            'Energy of GPUs that no process held.',
            Query(
                _day('nvitop_free_gpu_energy_joules_total', 'hostname', _KWH), 'energy', 'kwatth'
            ),
        ),
    ],
    'Exporters': [
        _table(
            'Hosts whose driver does not respond',
            'Run nvidia-smi there, and look at the kernel log.',
            Query(
                f'min by (hostname, instance) (nvitop_last_collect_success{{{_HOST}}}) == 0',
                'driver responds',
                words=_YES_NO,
            ),
        ),
        _graph(
            f'Duration of a sample: the {MOST} slowest hosts',
            'Time that the driver took for all values of the host.',
            's',
            _top(f'nvitop_last_collect_duration_seconds{{{_HOST}}}', '{{hostname}}'),
        ),
    ],
}


def dashboard() -> str:
    """Return the dashboard as JSON."""
    panels: list[Panel] = []
    number, y = 0, 0
    for title, views in ROWS.items():
        row_number, row_y = number + 1, y
        number, x, y, height = row_number, 0, y + 1, 0
        inside = []
        for view in views:
            if x + view.width > 24:
                x, y, height = 0, y + height, 0
            number += 1
            inside.append(_panel(number, view, (x, y)))
            x, height = x + view.width, max(height, view.height)
        y += height
        is_open = row_y == 0
        row = {
            'collapsed': not is_open,
            'gridPos': {'h': 1, 'w': 24, 'x': 0, 'y': row_y},
            'id': row_number,
            'panels': [] if is_open else inside,
            'title': title,
            'type': 'row',
        }
        panels += [row, *inside] if is_open else [row]
    made = {
        'annotations': {'list': []},
        'description': 'NVIDIA GPUs of many hosts, from nvitop exporter.',
        'editable': True,
        'fiscalYearStartMonth': 0,
        'graphTooltip': 1,
        'id': None,
        'links': [],
        'panels': panels,
        'refresh': '1m',
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


def _panel(number: int, view: View, place: tuple[int, int]) -> Panel:
    is_table = view.kind == 'table'
    is_instant = is_table or view.kind == 'stat'
    panel: Panel = {
        'datasource': _DATASOURCE,
        'description': view.about,
        'fieldConfig': {
            'defaults': _defaults(view),
            'overrides': _columns(view) if is_table else [],
        },
        'gridPos': {'h': view.height, 'w': view.width, 'x': place[0], 'y': place[1]},
        'id': number,
        'options': _OPTIONS[view.kind],
        'targets': [
            {
                'datasource': _DATASOURCE,
                'editorMode': 'code',
                'expr': query.expr,
                'format': 'table' if is_table else 'time_series',
                'instant': is_instant,
                'legendFormat': query.legend or '__auto',
                'range': not is_instant,
                'refId': letter,
            }
            for letter, query in zip('ABCDEFGHIJ', view.queries)
        ],
        'title': view.title,
        'type': view.kind,
    }
    if is_table:
        panel['transformations'] = _joined(view.queries)
    return panel


def _defaults(view: View) -> Panel:
    made: Panel = {'unit': view.unit}
    if view.kind == 'timeseries':
        ends = dict(zip(('min', 'max'), view.ends))
        made.update({name: value for name, value in ends.items() if value is not None})
        custom: Panel = {'fillOpacity': 30 if view.is_stacked else 0, 'showPoints': 'never'}
        custom['stacking'] = {'mode': 'normal' if view.is_stacked else 'none', 'group': 'A'}
        if view.steps:
            custom['thresholdsStyle'] = {'mode': 'dashed'}
        made['custom'] = custom
    if view.kind in ('timeseries', 'state-timeline') and any(
        '{{hostname}}' in query.legend for query in view.queries
    ):
        made['links'] = _links('${__field.labels.hostname}')
    if view.kind == 'table':
        made['noValue'] = '-'
    if view.steps:
        made['thresholds'] = _thresholds(view.steps)
    if view.kind == 'stat':
        made.update(color={'mode': 'thresholds'}, noValue='-')
    if view.words:
        made.update(mappings=_mappings(view.words), color={'mode': 'thresholds'})
    return made


def _thresholds(steps: Steps) -> Panel:
    first = min(steps)
    return {
        'mode': 'absolute',
        'steps': [
            {'color': color, 'value': None if number == first else number}
            for number, color in sorted(steps.items())
        ],
    }


def _mappings(words: dict[int, tuple[str, str]]) -> list[Panel]:
    options = {
        str(number): {'color': color, 'index': index, 'text': text}
        for index, (number, (text, color)) in enumerate(words.items())
    }
    return [{'type': 'value', 'options': options}]


def _links(host: str) -> list[Panel]:
    return [{'title': f'GPUs of {host}', 'url': _TO_HOST % host}]


_OPTIONS: dict[str, Panel] = {
    'stat': {
        'colorMode': 'value',
        'graphMode': 'none',
        'reduceOptions': {'calcs': ['lastNotNull'], 'fields': '', 'values': False},
    },
    'timeseries': {
        'legend': {'calcs': [], 'displayMode': 'list', 'placement': 'bottom', 'showLegend': True},
        'tooltip': {'mode': 'multi', 'sort': 'desc'},
    },
    'state-timeline': {'mergeValues': True, 'showValue': 'never'},
    'table': {
        'cellHeight': 'sm',
        'footer': {'enablePagination': True, 'reducer': [], 'show': False},
        'showHeader': True,
    },
}
#: Columns with colors and bars.
_STEPS_OF_COLUMNS: dict[str, Steps] = {
    'findings': {0: 'green', 1: 'orange'},
    'held': {0: 'text', 1: 'orange'},
    'hottest': {0: 'text', 85: 'orange', 92: 'red'},
}


def _columns(view: View) -> list[Panel]:
    """Return units, words, colors and links of the columns of a table."""
    found: list[tuple[str, Panel]] = [('hostname', {'links': _links('${__value.raw}')})]
    for query in view.queries:
        values: Panel = {'unit': query.unit} if query.unit else {}
        steps = _STEPS_OF_COLUMNS.get(query.legend)
        if query.words:
            values['mappings'] = _mappings(query.words)
        if steps:
            values['thresholds'] = _thresholds(steps)
        if query.words or steps:
            values['custom.cellOptions'] = {'type': 'color-text'}
        elif query.unit == 'percentunit':
            values['custom.cellOptions'] = {'type': 'gauge', 'mode': 'basic'}
            values.update(min=0, max=1)
        if query.legend == 'hours':
            values['decimals'] = 1
        if values:
            found.append((query.legend, values))
    return [
        {
            'matcher': {'id': 'byName', 'options': name},
            'properties': [{'id': key, 'value': value} for key, value in values.items()],
        }
        for name, values in found
    ]


def _joined(queries: list[Query]) -> list[Panel]:
    """Return what joins the results of several queries in one table, the highest values first."""
    is_one = len(queries) == 1
    names = {
        'Value' if is_one else f'Value #{letter}': query.legend
        for letter, query in zip('ABCDEFGHIJ', queries)
    }
    organize = {'excludeByName': {'Time': True}, 'indexByName': {}, 'renameByName': names}
    sort = {'fields': {}, 'sort': [{'field': queries[0].legend, 'desc': True}]}
    return [
        *([] if is_one else [{'id': 'merge', 'options': {}}]),
        {'id': 'organize', 'options': organize},
        {'id': 'sortBy', 'options': sort},
    ]


def _variables() -> list[Panel]:
    made: list[Panel] = [
        {
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
    for name, title in (('job', 'Job'), ('hostname', 'Host'), ('gpu', 'GPU')):
        metric = 'nvitop_gpu_up' if name == 'gpu' else 'nvitop_build_info'
        query = f'label_values({metric}{{{selected}}}, {name})'
        selected = f'{selected},{name}=~"${name}"'.lstrip(',')
        made.append(
            {
                'allValue': '.*',
                'current': {'selected': True, 'text': ['All'], 'value': ['$__all']},
                'datasource': _DATASOURCE,
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
