# SPDX-License-Identifier: Apache-2.0
"""Values of the options of ``nvitop``, merged from command line, environment and configuration file.

:mod:`nvitop.console.option_table` has the flags, keys and texts of each option.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from nvitop.basics.toml import unknown

#: Sizes of the device panel; ``auto`` depends on the height of the terminal.
MODES = ('auto', 'full', 'compact')
#: Names of the themes; their colors are in ``gui.render.theme``. ``auto`` is dark or light, whatever
#: the background of the terminal is.
THEME_NAMES = ('auto', 'dark', 'light', 'mono', 'colorblind')
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
WITHOUT_ROW = frozenset({'monitor', 'config_path', 'demo'})


class Options(NamedTuple):
    """Everything that can be set for a run of ``nvitop``, with its type and default.

    :mod:`nvitop.console.option_table` explains what each means.
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
    force_color: bool = False
    theme: str = 'auto'
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


def parse_environment(environ: Mapping[str, str]) -> tuple[dict[str, object], list[str]]:
    """Make a layer from environment variables; also return what is ignored, as messages for the user.

    ``NVITOP_MONITOR_MODE`` is a comma-separated list: exactly one of ``auto``, ``full`` and
    ``compact`` sets the mode; ``dark`` overrides ``light``; ``readonly`` disables signals;
    ``colorful`` and ``plain``, of nvitop 1, have no effect.
    """
    layer: dict[str, object] = {}
    variable = 'NVITOP_MONITOR_MODE'
    words = [word.strip().lower() for word in environ.get(variable, '').split(',') if word.strip()]
    known = (*MODES, 'colorful', 'plain', 'light', 'dark', 'readonly')
    problems = [
        f'{variable}: {unknown("word", word, known)}' for word in words if word not in known
    ]
    modes = [mode for mode in MODES if mode in words]
    if len(modes) == 1:
        layer['mode'] = modes[0]
    elif modes:
        problems.append(f'{variable}: {" and ".join(modes)} exclude each other')
    if 'light' in words or 'dark' in words:
        layer['theme'] = 'light' if 'dark' not in words else 'dark'
    if 'readonly' in words:
        layer['readonly'] = True
    return layer, problems


class Invocation(NamedTuple):
    """A parsed command line."""

    #: The options that are given; see :func:`merge`.
    layer: dict[str, object]
    #: The configuration file to read; ``None``: the default one.
    config: str | None = None
    reads_config: bool = True
    prints_config: bool = False
