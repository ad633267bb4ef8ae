"""Choosing how things are drawn: panels, details, graphs and their time, theme, freezing."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import DETAILS, ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.gui.state.events import Redraw, Refresh, RingBell, SaveSettings, SettingsSaved
from nvitop.gui.state.lists import main_layout
from nvitop.gui.state.update import update
from nvitop.sampling.types import DeviceKey, Problem
from tests.gui.driving import (
    MANY,
    arrived,
    press,
    pressed,
    state_of,
    texts,
)
from tests.gui.samples import SAMPLES, with_details

# Panels


@pytest.mark.parametrize(
    ('size', 'key', 'notice'),
    [
        ((60, 20), 'f', 'Full panels need 79 columns'),
        ((60, 16), 'c', 'Already compact'),
        ((60, 16), 'a', 'Already as large as possible'),
        ((80, 24), 'c', ''),
        ((80, 24), 'f', ''),
        ((120, 60), 'f', ''),
    ],
)
def test_mode_that_changes_no_panel_shows_a_notice(
    size: tuple[int, int], key: str, notice: str
) -> None:
    before = state_of(SAMPLES['one'], *size)
    state = pressed(before, key)
    assert ''.join(texts(state)) == notice
    assert len(notice) <= 40 - 2
    assert (main_layout(state) == main_layout(before)) is bool(notice)


def test_host_panel_is_not_shown_if_it_would_push_all_processes_off_the_screen() -> None:
    state = state_of(SAMPLES['h100x8'], width=60, height=16)
    assert main_layout(state).host.area.is_empty
    state, effects = press(state, 'H')
    assert effects == (RingBell(),)
    assert texts(state) == ['The host panel needs a higher screen']


def test_mig_devices_alone_have_no_details() -> None:
    sample = SAMPLES['mig']
    alone = sample._replace(devices=sample.devices[1:4])
    state, effects = press(state_of(alone), 'd')
    assert (state.view.shows_details, effects) == (False, (RingBell(),))
    assert texts(state) == ['MIG devices have no details, and no GPU is shown']
    # Details can be hidden, and a GPU has details.
    shown = state_of(alone, view=ViewState(shows_details=True))
    assert not pressed(shown, 'd').view.shows_details
    assert pressed(state_of(sample), 'd').view.shows_details


# Graphs


@pytest.mark.parametrize(
    ('width', 'keys', 'why'),
    [
        (59, 'g', '60 columns needed'),
        (40, 'H g', '60 columns needed'),
        (120, 'c g', 'press f for full panels'),
        (59, '+', '60 columns needed'),
        (80, 'c +', 'press f for full panels'),
        (120, 'H G', 'press H to show the host panel'),
    ],
)
def test_notice_explains_how_to_see_graphs(width: int, keys: str, why: str) -> None:
    state = pressed(state_of(MANY, width=width, height=60), *keys.split())
    what = 'No graphs' if keys.endswith('+') else 'No GPU graphs'
    assert texts(state)[-1] == f'{what}: {why}'
    assert len(texts(state)[-1]) <= width - 2


@pytest.mark.parametrize(
    ('width', 'keys', 'shorter', 'longer'),
    [
        (80, 'f', [1], [2, 5, 10, 15, 30, 60]),
        (180, 'f', [2, 1], [5, 10, 15, 30, 60]),
        (400, 'f', [10, 5, 2, 1], [15, 30, 60]),
        (240, 'Down Enter', [2, 1], [5, 10, 15, 30, 60]),
    ],
)
def test_times_are_longer_or_shorter_than_the_natural_one(
    width: int, keys: str, shorter: list[int], longer: list[int]
) -> None:
    for key, back, times in (('+', '-', longer), ('-', '+', shorter)):
        state = pressed(state_of(MANY, width=width), *keys.split())
        for minutes in times:
            state, effects = press(state, key)
            assert (state.main.graphs.minutes, effects) == (minutes, ())
        state, effects = press(state, key)
        assert (state.main.graphs.minutes, effects) == (times[-1], (RingBell(),))
        assert texts(state)[-1].startswith('Graphs show no ')
        assert pressed(state, *[back] * len(times)).main.graphs.minutes == 0


# Freezing


def test_freezing_stops_the_display_but_not_measuring() -> None:
    state = arrived(pressed(state_of(MANY), 'z'), MANY._replace(processes=()))
    assert state.sample.processes == ()
    assert state.shown.processes == MANY.processes
    assert state.rows
    state = pressed(state, 'z')
    assert state.shown is state.sample
    assert state.rows == ()


def test_frozen_display_refuses_values_that_were_not_measured() -> None:
    measured = with_details(SAMPLES['h100x8'])
    fields = [METRICS_BY_NAME[name].field for name in (*DETAILS, 'gpm_sm_active')]
    nothing: dict[str, Any] = dict.fromkeys(fields)
    devices = tuple(device._replace(**nothing) for device in measured.devices)
    unmeasured = state_of(measured._replace(devices=devices), 160, 80)
    frozen = pressed(unmeasured, 'z')
    state, effects = press(frozen, 'd')
    assert (state.view.shows_details, effects) == (False, (RingBell(),))
    why = 'Paused before details were measured (z: resume)'
    assert texts(state) == [why]
    assert texts(pressed(state, 'z', 'd', 'd')) == []
    state = pressed(unmeasured, 'z', *'g' * 6)
    assert texts(state) == []
    state = pressed(state, 'g')
    why = 'Paused before ENC was measured (z: resume)'
    assert texts(state) == [why]
    state, effects = press(state, 'r')
    assert effects == (Refresh(), Redraw())
    assert texts(state) == ['Not shown while paused (z: resume)']
    # Values that were measured, or cannot be, are shown.
    missing = Problem(DeviceKey(0), 'encoder_utilization', 'Not Supported')
    for sample in (measured, measured._replace(devices=devices, problems=(missing,))):
        state = pressed(state_of(sample, 160, 80), 'z', 'd', *'g' * 7)
        assert state.view.shows_details
        assert texts(state) == []


def test_w_saves_the_choices_and_shows_where() -> None:
    state, (effect,) = press(state_of(SAMPLES['one']), 'c', 'm', 'W')
    assert isinstance(effect, SaveSettings)
    assert dict(effect.values) == {
        'theme': 'dark',
        'mode': 'compact',
        'show-host': True,
        'hints': True,
        'columns': DEFAULT_COLUMNS,
    }
    saved, _ = update(state, SettingsSaved('/home/ann/saved.toml'))
    assert texts(saved)[-1].endswith(' to /home/ann/saved.toml')
    failed, _ = update(saved, SettingsSaved('/config.toml', 'Permission denied'))
    assert texts(failed) == ['Not saved: /config.toml: Permission denied']
    assert press(state, 'Alt-W')[1] == (SaveSettings(()),)
