# SPDX-License-Identifier: Apache-2.0
"""Values of the options of ``nvitop``, merged from command line, environment and configuration file.

:mod:`nvitop.console.option_table` has the flags, keys and texts of each option.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from nvitop.basics.toml import suggestion

#: Sizes of the device panel; ``auto`` depends on the height of the terminal.
MODES = ('auto', 'full', 'compact')
#: Names of the themes; their colors are in ``gui.render.theme``. ``auto`` is dark or light, whatever
#: the background of the terminal is; ``classic`` has the colors of nvitop 1.7.
THEME_NAMES = ('auto', 'dark', 'light', 'classic', 'mono', 'colorblind')
#: Where names of containers and pods are looked up: in files that every user may read, also in the
#: sockets of Docker and Podman, or nowhere.
OWNER_NAMES = ('files', 'sockets', 'none')

#: Whether GPUs that sleep are woken: never, when the user refreshes, or at once.
WAKE = ('never', 'ask', 'always')

#: Shortest and longest time (seconds) between samples, and that samples are kept in memory.
INTERVALS = 0.25, 1e6
SCROLL_BACKS = 0.0, 86400.0
#: Fields of :class:`Options` without a row in :mod:`nvitop.console.option_table`: other options and
#: the files that are read set them.
WITHOUT_ROW = frozenset({'monitor', 'config_path'})


class Thresholds(NamedTuple):
    """Percentages at which a utilization counts as moderate and as heavy."""

    gpu: tuple[int, int] = (10, 75)
    memory: tuple[int, int] = (10, 80)


class Options(NamedTuple):
    """Everything that can be set for a run of ``nvitop``, with its type and default.

    :data:`nvitop.console.option_table.GROUPS` explains what each means.
    """

    #: ``None``: only without a terminal.
    once: bool | None = None
    #: Whether the monitor was requested explicitly, which is an error without a terminal.
    monitor: bool = False
    mode: str = 'auto'
    #: ``None``: 1 s for devices, 2 s for processes.
    interval: float | None = None
    scroll_back: float = 3600.0
    ascii: bool = False
    readonly: bool = False
    colorful: bool | None = None
    force_color: bool = False
    theme: str = 'auto'
    gpu_thresholds: tuple[int, int] = (10, 75)
    memory_thresholds: tuple[int, int] = (10, 80)
    show_host: bool = True
    flat: bool = False
    hints: bool = True
    report_on_exit: bool = True
    #: ``None``: the default ones.
    columns: tuple[str, ...] | None = None
    owner_names: str = 'files'
    wake: str = 'ask'
    #: ``None``: all devices, users, processes.
    only: tuple[str, ...] | None = None
    only_visible: bool = False
    compute: bool = False
    only_compute: bool = False
    graphics: bool = False
    only_graphics: bool = False
    users: tuple[str, ...] | None = None
    pids: tuple[int, ...] | None = None
    #: Actions and their keys.
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: The configuration file, ``''``: the usual one; ``None``: none is used.
    config_path: str | None = None
    #: ``None``: the real machine, this one.
    demo: str | None = None
    ssh: str | None = None

    @property
    def thresholds(self) -> Thresholds:
        """The percentages at which utilizations count as moderate and as heavy."""
        return Thresholds(self.gpu_thresholds, self.memory_thresholds)


#: Name in the table of keys for a whole set of keys.
PRESET = 'preset'


def merge(*layers: Mapping[str, object]) -> Options:
    """Merge layers (configuration file, environment, command line); the last one wins.

    A layer holds only the fields that it sets. Other ones are an error.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update(layer)
    return Options()._replace(**merged)


def environment_problems(environ: Mapping[str, str]) -> list[str]:
    """Return what :func:`parse_environment` ignores, as messages for the user."""
    found = []
    variable = 'NVITOP_MONITOR_MODE'
    words = [word.strip().lower() for word in environ.get(variable, '').split(',') if word.strip()]
    others = ('colorful', 'plain', 'light', 'dark', 'readonly')
    known = (*MODES, *others)
    for word in words:
        if word not in known:
            hint = suggestion(word, known) or f'; expected {", ".join(known)}'
            found.append(f'{variable}: unknown word {word!r}{hint}')
    modes = [mode for mode in MODES if mode in words]
    if len(modes) > 1:
        found.append(f'{variable}: {" and ".join(modes)} exclude each other')
    for name in ('GPU', 'MEMORY'):
        variable = f'NVITOP_{name}_UTILIZATION_THRESHOLDS'
        text = environ.get(variable)
        try:
            if text:
                parse_thresholds(text.split(',')[:2])
        except ValueError:
            found.append(
                f'{variable}: expected two percentages from 1 to 99 such as 10,80, not {text!r}'
            )
    return found


def parse_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Make a layer from environment variables. Invalid values are ignored.

    ``NVITOP_MONITOR_MODE`` is a comma-separated list: exactly one of ``auto``, ``full`` and
    ``compact`` sets the mode; ``plain`` overrides ``colorful``, ``dark`` overrides ``light``;
    ``readonly`` disables signals. ``NVITOP_GPU_UTILIZATION_THRESHOLDS`` and
    ``NVITOP_MEMORY_UTILIZATION_THRESHOLDS`` are two comma-separated percentages.
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
    """Return two percentages from 1 to 99, the lower one first; raise ValueError otherwise."""
    low, high = sorted(int(word) for word in words)
    if not 1 <= low <= high <= 99:
        raise ValueError(f'thresholds must be from 1 to 99, not {low} and {high}')
    return low, high


class Invocation(NamedTuple):
    """A parsed command line."""

    #: The options that are given; see :func:`merge`.
    layer: dict[str, object]
    #: The configuration file to read; ``None``: the default one.
    config: str | None = None
    reads_config: bool = True
    prints_config: bool = False
