# SPDX-License-Identifier: GPL-3.0-only
"""Histories of devices: the line of a metric, and those below a ruler on screens of other subjects."""

from __future__ import annotations

import functools
from typing import Sequence

from nvitop.basics.metrics import METRICS_BY_NAME, Metric
from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_columns import base_of, is_known, metric_style, top_of, value_of
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import Role, Style
from nvitop.gui.view.charts import MetricLine, Ruler, draw_ruler, draw_series, history_x
from nvitop.sampling.types import DeviceSample

#: Why a history has gaps, and why that of the utilization of a MIG device is empty.
GAP_WORDS = 'measured only while this page is open'
_MIG_WORDS = 'the driver does not measure this on MIG devices'


def device_line(device: DeviceSample, metric: Metric) -> MetricLine:
    """Return the line of a metric of a device, which has bytes in place of a share of the memory."""
    gap_words = GAP_WORDS if metric.tier == 'shown' else ''
    if device.key.is_mig and not is_known(device, metric.name):
        gap_words = _MIG_WORDS
    top = top_of(metric, [device])
    used, total = device.memory_used_bytes, device.info.memory_total_bytes
    line = MetricLine(
        metric.graph,
        value_of(device, metric.name),
        functools.partial(fmt.format_measured, metric.unit),
        device.key,
        metric.name,
        Style(Role.SENT) if metric.mirrors else metric_style(metric),
        top,
        base_of(metric),
        gap_words,
        is_mirrored=bool(metric.mirrors),
        limit=top if metric.maximum else None,
    )
    if metric.name == 'temperature':
        return line._replace(limit=device.info.temperature_slowdown_threshold_celsius)
    if metric.name != 'memory_percent' or not total:
        return line

    def format_used(percent: float | None) -> str:
        return fmt.format_gib(None if percent is None else total * percent / 100.0)

    if used is not None:  # the percentage is rounded
        line = line._replace(now=100.0 * used / total)
    return line._replace(format=format_used, limit=top)


#: Metrics of devices on other screens, the most important first, and maximum height of their histories.
_HISTORIES = ('gpu_utilization', 'memory_percent', 'power_usage', 'temperature', 'sm_clock')
_MOST_LINES = 6


def draw_histories(buf: Buffer, area: Rect, devices: Sequence[DeviceSample], ruler: Ruler) -> None:
    """Draw metrics of devices below a ruler, the first ones of each if not all have two lines."""
    rows = (area.height - 1) // max(1, len(devices))
    groups = []
    for device in devices:
        names = [name for name in _HISTORIES if is_known(device, name)] or [*_HISTORIES]
        series = []
        for name in names[: max(1, rows // 2)]:
            line = device_line(device, METRICS_BY_NAME[name])
            title = f'GPU {device.key.label} ' if len(devices) > 1 and name == names[0] else ''
            if line.now is not None or ruler.highest(line.key, line.metric, area.width) is not None:
                series.append(line._replace(title=f'{title}{line.title}'))
        groups.append(series)
    if not rows or not any(groups):
        return
    left = history_x(area.width)
    draw_ruler(buf, Rect(area.x + left, area.y, area.width - left, 1), ruler)
    for number, series in enumerate(groups):
        # The metrics of several GPUs are equally high: rows that are left keep the GPUs apart.
        used = rows - rows % max(1, len(series)) if len(devices) > 1 else rows
        place = Rect(area.x, area.y + 1 + number * rows, area.width, used)
        draw_series(buf, place, series, _MOST_LINES, ruler)
