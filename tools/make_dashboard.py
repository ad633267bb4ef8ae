"""The Grafana dashboard share/grafana/nvitop.json, made from a table of panels by ``make share``."""

from __future__ import annotations

import itertools
import json
from string import ascii_uppercase
from typing import Any, Dict, NamedTuple

from nvitop.health.states import HELD_RULE

UID = 'nvitop-exporter'
#: Maximum number of lines in a graph, and of rows of a ranking.
MOST = 20
_DATASOURCE = {'type': 'prometheus', 'uid': '${datasource}'}
#: Labels that the variables of the dashboard select, for all series and for those of GPUs.
_HOST = 'job=~"$job",hostname=~"$hostname"'
_GPU = f'{_HOST},gpu=~"$gpu"'
#: Without MIG devices, whose values are parts of those of their GPU.
_WHOLE = f'{_GPU},mig_uuid=""'
_BY_GPU = '{{hostname}} GPU {{gpu}}'
_DEVICE = 'job, instance, gpu, uuid, mig_uuid'

Panel = Dict[str, Any]


class Query(NamedTuple):
    """PromQL, the name of its series or column, and the unit of the column."""

    expr: str
    legend: str = ''
    unit: str = ''


class View(NamedTuple):
    """A panel. Grafana's grid has 24 columns."""

    kind: str
    title: str
    about: str
    queries: list[Query]
    unit: str = 'none'
    width: int = 12
    height: int = 8
    #: Color of numbers from 1 on; 0 is green then.
    alarm: str = ''


def _table(title: str, about: str, *queries: Query, width: int = 12) -> View:
    return View('table', title, about, list(queries), 'none', width)


def _graph(title: str, about: str, unit: str, *queries: Query) -> View:
    return View('timeseries', title, about, list(queries), unit)


def _top_gpus(name: str) -> Query:
    # topk() alone chooses others at each step, so that a graph has far more lines.
    selector = f'nvitop_gpu_{name}{{{_WHOLE}}}'
    mean = f'avg_over_time({selector}[$__range] @ end())'
    return Query(f'{selector} and topk({MOST}, {mean})', _BY_GPU)


def _most_in_a_day(name: str, by: str, legend: str = 'hours', unit: str = '') -> Query:
    """Return the highest sums of a counter in the last day."""
    scale = 3600 if legend == 'hours' else 3.6e6
    sums = f'sum by ({by}) (increase(nvitop_{name}_total{{{_HOST}}}[1d])) / {scale:g}'
    return Query(f'topk({MOST}, {sums})', legend, unit)


_GPUS = f'(nvitop_gpu_up{{{_WHOLE}}} or nvitop_gpu_asleep{{{_GPU}}})'
_FREE, _HELD = (f'nvitop_gpu_state{{{_WHOLE},state="{state}"}}' for state in ('free', 'held'))
_BAD = f'count by ({_DEVICE}) (nvitop_gpu_health{{{_GPU}}} >= 2)'
_LOST = f'nvitop_gpu_up{{{_WHOLE}}} == 0 or nvitop_gpu_missing{{{_HOST}}} == 1'
_DOWN = f'up{{job=~"$job"}} == 0 or nvitop_last_collect_success{{{_HOST}}} == 0'
_ALL_HELD = f'nvitop_gpu_state{{{_GPU},state="held"}} == 1'
_HOLDERS = f'(nvitop_user_gpu_memory_bytes{{{_GPU}}} > 16777216 and on ({_DEVICE}) {_ALL_HELD})'
_MEMORY = ' / '.join(
    f'sum by (hostname) (nvitop_gpu_memory_{part}_bytes{{{_WHOLE}}})' for part in ('used', 'total')
)
_UTILIZATION = f'nvitop_gpu_utilization_ratio{{{_WHOLE}}}'

ROWS: dict[str, list[View]] = {
    'Fleet': [
        *(
            View('stat', title, about, [Query(f'count({expr}) or vector(0)')], 'none', 4, 4, alarm)
            for title, about, expr, alarm in (
                ('GPUs', 'That the driver lists.', _GPUS, ''),
                ('Free', 'That no process holds.', f'{_FREE} == 1', ''),
                ('Held, not used', f'A GPU is held if {HELD_RULE}.', f'{_HELD} == 1', 'orange'),
                ('With findings', 'Warnings and critical ones.', _BAD, 'orange'),
                ('Lost or missing', 'Do not respond, or are not listed.', _LOST, 'red'),
                ('Hosts without values', 'No exporter, or no driver.', _DOWN, 'red'),
            )
        ),
        _graph(
            'GPUs by state',
            f'Free, busy, in use, and held. A GPU is held if {HELD_RULE}.',
            'none',
            Query(f'sum by (state) (nvitop_gpu_state{{{_WHOLE}}})', '{{state}}'),
        ),
        _graph(
            'GPU utilization: mean and median',
            'Share of time in which kernels ran, over all GPUs.',
            'percentunit',
            Query(f'avg({_UTILIZATION})', 'mean'),
            Query(f'quantile(0.5, {_UTILIZATION})', 'median'),
        ),
        _table(
            'Hosts',
            'Click on a host to see its GPUs in the row GPUs.',
            Query(f'count by (hostname) {_GPUS}', 'GPUs'),
            Query(f'sum by (hostname) ({_FREE})', 'free'),
            Query(f'sum by (hostname) ({_HELD})', 'held'),
            Query(f'count by (hostname) (nvitop_gpu_health{{{_GPU}}} >= 2)', 'findings'),
            Query(f'avg by (hostname) ({_UTILIZATION})', 'utilization', 'percentunit'),
            Query(_MEMORY, 'memory', 'percentunit'),
            Query(f'sum by (hostname) (nvitop_gpu_power_usage_watts{{{_WHOLE}}})', 'power', 'watt'),
            width=24,
        ),
    ],
    'Broken': [
        _table(
            'Warnings and critical findings',
            '1 info, 2 warning, 3 critical. "nvitop health" on the host has evidence and action.',
            Query(f'max by (hostname, gpu, kind) (nvitop_gpu_health{{{_GPU}}}) >= 2', 'severity'),
        ),
        _table(
            'Xid errors in the last day',
            'Errors that the driver reported, and what to do about them.',
            Query(
                f'topk({MOST}, max by (hostname, gpu, xid, action) '
                f'(nvitop_gpu_xid_last_seen_timestamp_seconds{{{_GPU}}}) > time() - 86400) * 1000',
                'last seen',
                'dateTimeFromNow',
            ),
        ),
    ],
    'Held, not used': [
        _table(
            'GPUs that are held, and whose memory it is',
            'All users with memory on them, also those whose small processes use them. '
            'Who holds them idle has hours in the next panel.',
            Query(f'sum by (hostname, gpu, mig_uuid, user) {_HOLDERS}', 'memory', 'bytes'),
        ),
        _table(
            'Hours held in the last day, by user',
            'Hours of whole GPUs; a MIG device counts by its share.',
            _most_in_a_day('user_gpu_held_idle_seconds', 'user'),
        ),
    ],
    'Use in the last day': [
        _table(
            'GPU-hours by user',
            'Each GPU counts once: a shared one is divided, and a MIG device counts by its share.',
            _most_in_a_day('user_gpu_seconds', 'user'),
        ),
        _table(
            'GPU-hours by job',
            'Jobs, pods, containers and units. Needs the option --owners of the exporter.',
            _most_in_a_day('owner_gpu_seconds', 'user, owner_kind, owner_id, owner_name'),
        ),
        _table(
            'Energy by user',
            'Energy of shared GPUs is divided by utilization.',
            _most_in_a_day('user_gpu_energy_joules', 'user', 'energy', 'kwatth'),
        ),
    ],
    'GPUs': [
        _graph(f'{title}: the {MOST} GPUs with most', about, unit, _top_gpus(name))
        for title, about, unit, name in (
            ('Utilization', 'Time in which kernels ran.', 'percentunit', 'utilization_ratio'),
            ('Memory', 'Allocated memory.', 'bytes', 'memory_used_bytes'),
            ('Power', 'Power of the board.', 'watt', 'power_usage_watts'),
            ('Temperature', 'Of the GPU die.', 'celsius', 'temperature_celsius'),
        )
    ],
}


def dashboard() -> str:
    """Return the dashboard as JSON."""
    panels: list[Panel] = []
    ids, y = itertools.count(1), 0
    for title, views in ROWS.items():
        place = {'h': 1, 'w': 24, 'x': 0, 'y': y}
        row: Panel = {'gridPos': place, 'id': next(ids), 'title': title, 'type': 'row'}
        inside, x, y = [], 0, y + 1
        for view in views:
            inside.append(_panel(next(ids), view, (x, y)))
            x += view.width
            if x == 24:
                x, y = 0, y + view.height
        is_open = not panels
        row.update(collapsed=not is_open, panels=[] if is_open else inside)
        panels += [row, *inside] if is_open else [row]
        y += views[-1].height if x else 0
    variables: list[Panel] = [
        {'label': 'Data source', 'name': 'datasource', 'query': 'prometheus', 'type': 'datasource'}
    ]
    for name, title, series in (
        ('job', 'Job', 'nvitop_build_info{}'),
        ('hostname', 'Host', 'nvitop_build_info{job=~"$job"}'),
        ('gpu', 'GPU', f'nvitop_gpu_up{{{_HOST}}}'),
    ):
        variables.append(
            {
                'allValue': '.*',
                'current': {'text': ['All'], 'value': ['$__all']},
                'datasource': _DATASOURCE,
                'includeAll': True,
                'label': title,
                'multi': True,
                'name': name,
                'query': {'query': f'label_values({series}, {name})', 'refId': name},
                'refresh': 2,
                'sort': 3,
                'type': 'query',
            }
        )
    document = {
        'description': 'NVIDIA GPUs of many hosts, from nvitop exporter.',
        'graphTooltip': 1,
        'panels': panels,
        'refresh': '1m',
        'schemaVersion': 39,  # Grafana 11 and newer
        'tags': ['gpu', 'nvidia', 'nvitop'],
        'templating': {'list': variables},
        'time': {'from': 'now-1h', 'to': 'now'},
        'title': 'nvitop',
        'uid': UID,
    }
    return json.dumps(document, indent=2) + '\n'


def _panel(number: int, view: View, place: tuple[int, int]) -> Panel:
    is_table = view.kind == 'table'
    steps: list[Panel] = [{'color': 'green' if view.alarm else 'text', 'value': None}]
    steps += [{'color': view.alarm, 'value': 1}] if view.alarm else []
    thresholds = {'mode': 'absolute', 'steps': steps}
    defaults: Panel = {'unit': view.unit, 'noValue': '-', 'thresholds': thresholds}
    if view.kind == 'timeseries':
        defaults.update(min=0, custom={'showPoints': 'never'})
    if view.queries[0].legend == _BY_GPU:
        defaults['links'] = [_link_to('${__field.labels.hostname}')]
    panel: Panel = {
        'datasource': _DATASOURCE,
        'description': view.about,
        'fieldConfig': {'defaults': defaults, 'overrides': []},
        'gridPos': {'h': view.height, 'w': view.width, 'x': place[0], 'y': place[1]},
        'id': number,
        'options': _OPTIONS.get(view.kind, {}),
        'targets': [
            {
                'datasource': _DATASOURCE,
                'expr': query.expr,
                'format': 'table' if is_table else 'time_series',
                'instant': view.kind != 'timeseries',
                'legendFormat': query.legend or '__auto',
                'refId': letter,
            }
            for letter, query in zip(ascii_uppercase, view.queries)
        ],
        'title': view.title,
        'type': view.kind,
    }
    if not is_table:
        return panel
    columns: list[tuple[str, str, Any]] = [('hostname', 'links', [_link_to('${__value.raw}')])]
    columns += [(query.legend, 'unit', query.unit) for query in view.queries if query.unit]
    panel['fieldConfig']['overrides'] = [
        {'matcher': {'id': 'byName', 'options': name}, 'properties': [{'id': key, 'value': value}]}
        for name, key, value in columns
    ]
    # The results of several queries become one table, the highest values first.
    is_one = len(view.queries) == 1
    names = {
        'Value' if is_one else f'Value #{letter}': query.legend
        for letter, query in zip(ascii_uppercase, view.queries)
    }
    changes: dict[str, Panel] = {} if is_one else {'merge': {}}
    changes['organize'] = {
        'excludeByName': {'Time': True},
        'indexByName': {},
        'renameByName': names,
    }
    changes['sortBy'] = {'fields': {}, 'sort': [{'field': view.queries[0].legend, 'desc': True}]}
    panel['transformations'] = [{'id': key, 'options': value} for key, value in changes.items()]
    return panel


def _link_to(host: str) -> Panel:
    place = f'/d/{UID}?var-hostname={host}&${{datasource:queryparam}}&${{__url_time_range}}'
    return {'title': f'GPUs of {host}', 'url': place}


_OPTIONS: dict[str, Panel] = {
    'stat': {'colorMode': 'value', 'graphMode': 'none'},
    'table': {'footer': {'enablePagination': True}, 'showHeader': True},
}
