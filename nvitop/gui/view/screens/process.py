# SPDX-License-Identifier: GPL-3.0-only
"""The page of a process: its facts, and graphs of its usage of host and device."""

from __future__ import annotations

from typing import Iterator

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import PROCESS_TRAFFIC
from nvitop.gui.model.columns import owner_text
from nvitop.gui.model.device_columns import value_of
from nvitop.gui.model.device_rows import devices_without_list
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import Role, Style
from nvitop.gui.render.width import clip, clip_left, safe, wrap
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.view.charts import MetricLine, draw_ruler, draw_series, history_x, ruler_of
from nvitop.gui.view.device_histories import GAP_WORDS, device_line
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.text import draw_facts
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, ProcessKey, ProcessSample

#: Metrics of the device, after those of the process.
_DEVICE_METRICS = (PROCESS_TRAFFIC, 'power_usage', 'sm_clock')
#: Cells of the labels of facts; maximum number of lines of the command, and of a metric.
_LABEL, _COMMAND_LINES, _MOST_LINES = 12, 4, 6
#: Maximum width of the name of the GPU in the title.
_NAME_WIDTH = 24
_UTILIZATION, _MEMORY, _OTHER = Style(Role.UTILIZATION), Style(Role.MEMORY), Style(Role.OTHER)


def draw_process(buf: Buffer, state: AppState, layout: ListLayout, history: History) -> None:
    """Draw the screen: facts, and a line for each metric."""
    key = state.shown_process
    if key is None:
        return
    process = next((p for p in state.shown_sample.processes if p.key == key), None)
    device = next((d for d in state.shown_sample.devices if d.key == key.device), None)
    title = f'{key.pid} on GPU {key.device.label}'
    name = None if device is None else device.info.name
    notes = [] if name is None else [[fmt.format_device_name(name, _NAME_WIDTH)]]
    set_title(buf, layout, [f'Process {title}', title], notes)
    y = 1
    if process is None:
        text = clip(_why_missing(state, key, device), buf.width - 2)
        buf.write(1, y, text, Style(Role.ERROR))
        y += 1
    else:
        room = Rect(1, 1, buf.width - 2, max(0, buf.height - 12))
        y += draw_facts(buf, room, _facts(process, buf.width), _LABEL)
    series = [
        line
        for line in _series(state, key, process, device)
        if line.now is not None or history.last(line.key, line.metric) is not None
    ]
    area = Rect(1, y, buf.width - 1, max(0, buf.height - y))
    if series and area.height > 1:
        ruler = ruler_of(state, history)
        left = history_x(area.width)
        draw_ruler(buf, Rect(area.x + left, y, area.width - left, 1), ruler)
        draw_series(buf, area.inset(0, 1, 0, 0), series, _MOST_LINES, ruler)


def _facts(process: ProcessSample, width: int) -> list[tuple[str, str]]:
    room = max(2, width - _LABEL - 2)
    start = fmt.format_start(process.key.start_time, process.running_time_seconds)
    age = fmt.format_age(process.running_time_seconds)
    age = '' if age == fmt.NOT_AVAILABLE else f' ({age} ago)'
    job = '' if process.owner is None else f' · {owner_text(process)}'
    user = 'an unknown user' if process.username is None else safe(process.username)
    threads = fmt.format_count(process.thread_count)
    facts = [
        ('STARTED', f'{start}{age} by {user}{job} · threads {threads}'),
        ('DIRECTORY', clip_left(fmt.format_word(process.directory), room)),
    ]
    command = fmt.format_command(process.command, process.status, name=process.name)
    return [*facts, ('COMMAND', ' '.join(wrap(command, room, _COMMAND_LINES)))]


def _why_missing(state: AppState, key: ProcessKey, device: DeviceSample | None) -> str:
    if device is not None and device.status != 'ok':
        return safe(f'GPU {key.device.label}: {device.reason or device.status}')
    if key.device in devices_without_list(state.shown_sample):
        return f'GPU {key.device.label} does not report its processes'
    return 'The process has exited or no longer uses this GPU'


def _series(
    state: AppState, key: ProcessKey, process: ProcessSample | None, device: DeviceSample | None
) -> Iterator[MetricLine]:
    """Yield what is known of a process and of its device, the most important first."""
    host = state.shown_sample.host
    now = process or ProcessSample(key)
    memory = device.info.memory_total_bytes if device is not None else None
    sm, cpu = now.gpu_sm_utilization_percent, now.cpu_percent
    yield MetricLine('SM', sm, fmt.format_share, key, 'gpu_sm_utilization', _UTILIZATION, 100.0)
    used = now.gpu_memory_bytes
    yield MetricLine('MEM', used, fmt.format_gib, key, 'gpu_memory', _MEMORY, memory, limit=memory)
    metric, title = 'cpu_percent', 'CPU'
    if now.tree_cpu_percent is not None:
        cpu, metric, title = now.tree_cpu_percent, 'tree_cpu', 'CPU+CHILD'
    yield MetricLine(title, cpu, _whole_percent, key, metric, _UTILIZATION)
    used, total = now.host_memory_bytes, host.memory_total_bytes
    yield MetricLine(
        'HOST MEM', used, fmt.format_gib, key, 'host_memory', _MEMORY, None, 1024, limit=total
    )
    read = now.disk_read_kib_per_s
    yield MetricLine(
        'DISK READ', read, fmt.format_rate, key, 'disk_read', _OTHER, None, 1024, GAP_WORDS
    )
    # Those of the whole GPU if a MIG device does not have them.
    whole = [
        d for d in state.shown_sample.devices if d.key.physical_index == key.device.physical_index
    ]
    whole.sort(key=lambda part: part.key != key.device)
    for name in _DEVICE_METRICS:
        known = [part for part in whole if value_of(part, name) is not None]
        for part in (known or whole)[:1]:
            yield device_line(part, METRICS_BY_NAME[name])._replace(style=_OTHER)


def _whole_percent(value: float | None) -> str:
    return fmt.NOT_AVAILABLE if value is None else f'{value:.0f}%'
