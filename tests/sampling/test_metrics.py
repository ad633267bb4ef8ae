"""The table of metrics: everything else is derived from it; what is implausible."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from nvitop import simulation
from nvitop.api.device import ClockEventReasons
from nvitop.api.device.base import ImpossibleAnswer
from nvitop.basics.metrics import EXTENDED_METRICS, LISTS, METRICS, METRICS_BY_NAME, UNITS
from nvitop.console.options import Options
from nvitop.gui.report import report_text
from nvitop.health import RULE_METRICS
from nvitop.sampling import REPORT_METRICS, LiveSource, Sample
from nvitop.sampling.device_reader import value_of
from nvitop.sampling.driver_reader import EnergyCounters
from tests.programs import run_python
from tests.sampling.fakes import device_sample

ALL_METRICS = (*METRICS, *EXTENDED_METRICS, *LISTS)

#: Run in a fresh Python: loads the table with one more row, then prints who knows the row.
PROGRAM = """
import json, pathlib, sys, types
import nvitop

path = pathlib.Path(nvitop.__file__).with_name('basics') / 'metrics.py'
table = types.ModuleType('nvitop.basics.metrics')
sys.modules['nvitop.basics.metrics'] = table
row = '''_metric('wing_temperature', '°C', 'int', 'fast', 'temperature.wing', 'temperature of the wing',
    method='temperature', field='temperature_celsius', report=True, detail=True, history=True,
    graph='WING', snapshot=True, collector=True),
    # GPM'''
exec(path.read_text(encoding='utf-8').replace('# GPM', row, 1), vars(table))

from docs import tables
from nvitop import Device, ResourceMetricCollector, simulation
from nvitop.gui.model.choices import GRAPHS
from nvitop.gui.model.choices import DETAILS
from nvitop.query.fields import DeviceQueryRow, device_table
from nvitop.sampling import REPORT_METRICS, History, LiveSource

with simulation.machine('workstation', processes='none') as machine:
    machine.set(temperature=44)
    sample = LiveSource().complete_sample()
    device = sample.devices[0]
    history = History()
    history.record(sample)
    (column,) = [c for c in device_table().fields if c.name == 'wing_temperature']
    collector = ResourceMetricCollector(interval=3600.0)
    with collector('t'):
        collected = collector.collect()
    print(json.dumps({
        'query': column.value(DeviceQueryRow(sample, device)),
        'report': 'wing_temperature' in REPORT_METRICS,
        'detail': 'wing_temperature' in DETAILS,
        'history': history.last(device.key, 'wing_temperature'),
        'graphs': [metric.name for metric in GRAPHS if metric.graph == 'WING'],
        'collector': collected['t/gpu:0/wing_temperature (C)/mean'],
        'snapshot': Device.SNAPSHOT_KEYS.count('temperature'),
        'docs': sum('wing' in line for table in (tables.metrics, tables.graphs) for line in table()),
    }))
"""


def test_one_row_of_the_table_adds_a_metric_everywhere() -> None:
    done = run_python(PROGRAM)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        'query': 44,
        'report': True,
        'detail': True,
        'history': 44,
        'graphs': ['wing_temperature'],
        'collector': 44,
        'snapshot': 2,
        'docs': 2,
    }


def test_columns_of_each_metric_fit_together() -> None:
    for metric in ALL_METRICS:
        assert metric.unit in UNITS, metric
        assert metric.lowest <= 0 < metric.highest, metric
        if metric.unit or metric.history or metric.collector:
            assert metric.is_number, metric
        if metric.graph:
            assert metric.history, metric
        if metric.detail:
            assert metric.tier in ('slow', 'shown'), metric
        if metric.begin:
            assert metric.tier in ('shown', 'extended'), metric
        for name in filter(None, (metric.maximum, metric.mirrors)):
            assert METRICS_BY_NAME[name].unit == metric.unit, metric


# The report


def without(sample: Sample) -> Sample:
    shown = {*REPORT_METRICS, *RULE_METRICS}
    others = [metric for metric in METRICS if metric.name not in shown]
    facts: dict[str, Any] = {
        m.field: None for m in others if m.tier == 'static' and m.name != 'index'
    }
    measured: dict[str, Any] = {metric.field: None for metric in others if metric.tier != 'static'}
    return sample._replace(
        devices=tuple(
            device._replace(**measured, info=device.info._replace(**facts))
            for device in sample.devices
        )
    )


@pytest.mark.parametrize('scenario', simulation.scenario_names())
def test_a_report_shows_only_metrics_of_the_report(scenario: str) -> None:
    with simulation.machine(scenario, processes='none'):
        sample = LiveSource(sleep=lambda _: None).complete_sample()
    for width in (60, 79, 100, 160):
        whole = report_text(sample, Options(), width=width, colors=256)
        assert report_text(without(sample), Options(), width=width, colors=256) == whole


def test_values_are_plain() -> None:
    for name, raw, value in (
        ('cuda_compute_capability', (9, 0), '9.0'),
        ('clock_event_reasons', ClockEventReasons(0x24), ('sw_power_cap', 'sw_thermal_slowdown')),
        ('remapped_rows_pending', 1, True),
    ):
        assert value_of(METRICS_BY_NAME[name], raw) == value


@pytest.mark.parametrize(
    ('name', 'raw', 'words'),
    [
        ('gpu_utilization', 101, '101 %'),
        ('memory_utilization', 4_000_000_000, '4000000000 %'),
        ('fan_speed', 4_000_000_000, '4000000000 %'),
        ('temperature', 4_294_967_294, '°C'),
        ('temperature', 300, '300 °C'),
        ('temperature', -3, '-3 °C'),
        ('power_usage', 4_200_000_000, '4.2 MW is implausible'),
        ('sm_clock', 99_999_999, '100 THz'),
        ('memory_percent', math.nan, 'not a number'),
        ('memory_used', '1 GiB', 'not a number'),
    ],
)
def test_implausible_values_are_refused(name: str, raw: object, words: str) -> None:
    with pytest.raises(ImpossibleAnswer, match=words):
        value_of(METRICS_BY_NAME[name], raw)


def test_impossible_jump_of_the_energy_counter_is_dropped_once() -> None:
    counters = EnergyCounters()
    kept, problems = [], []
    for now, joules in enumerate([9e6, 9e6 + 700, 9e9, 9e6 + 2100, 9e6 + 2800, None]):
        gpu = device_sample(0, power_limit_mw=700_000, total_energy_joules=joules)
        (checked,), found = counters.check([gpu], float(now))
        kept.append(checked.total_energy_joules)
        problems += found
    assert kept == [9e6, 9e6 + 700, None, 9e6 + 2100, 9e6 + 2800, None]
    (problem,) = problems
    assert (problem.what, problem.kind) == ('total_energy', 'impossible')


def test_a_counter_may_be_read_late_and_the_limit_exceeded_for_a_moment() -> None:
    counters = EnergyCounters()
    for now, joules, is_kept in ((0.0, 0.0, True), (1.0, 6000.0, True), (2.0, 12_600.0, False)):
        gpu = device_sample(0, power_limit_mw=700_000, total_energy_joules=joules)
        (checked,), _ = counters.check([gpu], now)
        assert (checked.total_energy_joules is not None) == is_kept, now
