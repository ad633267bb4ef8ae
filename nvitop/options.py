# SPDX-License-Identifier: Apache-2.0
"""Options: what command line, environment and configuration file say, merged."""

from __future__ import annotations

from typing import Mapping, NamedTuple

#: How much room a panel takes: ``auto`` decides by the height of the terminal.
MODES = ('auto', 'full', 'compact')


class Thresholds(NamedTuple):
    """Where load turns from light to moderate and from moderate to heavy, in percent."""

    gpu: tuple[int, int] = (10, 75)
    memory: tuple[int, int] = (10, 80)


class Options(NamedTuple):
    """Everything a run of ``nvitop`` can be told. The defaults are the documented ones."""

    #: Print a report once; ``None``: decided by whether there is a terminal.
    once: bool | None = None
    #: Whether the monitor was asked for by name (an error without a terminal).
    monitor: bool = False
    #: One of :data:`MODES`.
    mode: str = 'auto'
    #: Seconds between samples, for everything; ``None``: devices 1 s, processes 2 s.
    interval: float | None = None
    ascii: bool = False
    #: No signal can be sent.
    readonly: bool = False
    #: Bars and graphs in a gradient, with 256 colours or more.
    colorful: bool = False
    #: Colours even where the output is no terminal.
    force_color: bool = False
    #: Name of the theme.
    theme: str = 'dark'
    thresholds: Thresholds = Thresholds()
    show_host: bool = True
    #: Columns of the process panel, from left to right; ``None``: the usual ones.
    columns: tuple[str, ...] | None = None
    #: Devices to show: indices, ``gpu:mig`` indices or UUIDs; ``None``: all.
    only: tuple[str, ...] | None = None
    #: Only the devices CUDA_VISIBLE_DEVICES names.
    only_visible: bool = False
    #: Only processes of type C or C+G; exactly C; G or C+G; exactly G.
    compute: bool = False
    only_compute: bool = False
    graphics: bool = False
    only_graphics: bool = False
    #: Only processes of these users; ``None``: of all.
    users: tuple[str, ...] | None = None
    #: Only these processes; ``None``: all.
    pids: tuple[int, ...] | None = None
    #: Name or file of the scenario to simulate, ``None``: the real machine.
    demo: str | None = None


def merge(*layers: Mapping[str, object]) -> Options:
    """Options of the layers, later ones winning: configuration file, environment, command line.

    A layer names only what it sets. Keys are the fields of :class:`Options`, and
    ``gpu_thresholds`` and ``memory_thresholds`` for the two halves of :class:`Thresholds`.
    """
    merged: dict[str, object] = {}
    for layer in layers:
        merged.update(layer)
    halves = [merged.pop(f'{half}_thresholds', None) for half in Thresholds._fields]
    thresholds = Thresholds._make(given or default for given, default in zip(halves, Thresholds()))
    fields = {**Options()._asdict(), 'thresholds': thresholds, **merged}
    unknown = fields.keys() - set(Options._fields)
    if unknown:
        raise ValueError(f'no such option: {", ".join(sorted(unknown))}')
    return Options._make(fields[name] for name in Options._fields)


def parse_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """The layer of the environment variables; what cannot be understood in them is ignored.

    ``NVITOP_MONITOR_MODE`` is a list of words: exactly one of ``auto full compact`` sets the mode,
    ``colorful`` holds unless ``plain`` stands beside it, ``light`` unless ``dark`` does,
    ``readonly`` always. ``NVITOP_GPU_UTILIZATION_THRESHOLDS`` and
    ``NVITOP_MEMORY_UTILIZATION_THRESHOLDS`` are two percentages each.
    """
    layer: dict[str, object] = {}
    words = {word.strip().lower() for word in environ.get('NVITOP_MONITOR_MODE', '').split(',')}
    modes = words.intersection(MODES)
    if len(modes) == 1:
        layer['mode'] = modes.pop()
    if 'colorful' in words or 'plain' in words:
        layer['colorful'] = 'plain' not in words
    if 'light' in words or 'dark' in words:
        layer['theme'] = 'light' if 'dark' not in words else 'dark'
    if 'readonly' in words:
        layer['readonly'] = True
    for key, variable in (('gpu', 'GPU'), ('memory', 'MEMORY')):
        text = environ.get(f'NVITOP_{variable}_UTILIZATION_THRESHOLDS', '')
        try:
            layer[f'{key}_thresholds'] = parse_thresholds(text.split(',')[:2])
        except ValueError:
            continue
    return layer


def parse_thresholds(words: list[str]) -> tuple[int, int]:
    """Two percentages from 1 to 99, the lower one first; ValueError where they are not."""
    low, high = sorted(int(word) for word in words)
    if not 1 <= low <= high <= 99:
        raise ValueError(f'thresholds must be from 1 to 99, not {low} and {high}')
    return low, high
