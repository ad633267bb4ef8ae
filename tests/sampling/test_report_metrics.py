from __future__ import annotations

from typing import Any

import pytest

from nvitop import simulation
from nvitop.api.metrics import METRICS
from nvitop.console.options import Options
from nvitop.gui.report import report_text
from nvitop.health import RULE_METRICS
from nvitop.sampling import REPORT_METRICS, LiveSource, Sample


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
