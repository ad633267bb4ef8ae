"""Choosing how things are drawn: panels, details, graphs and their time, theme, freezing."""

from __future__ import annotations

from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.gui.state.events import RingBell, SaveSettings, SettingsSaved
from nvitop.gui.state.lists import panel_rows
from nvitop.gui.state.update import update
from tests.gui.driving import arrived, press, pressed, state_of, texts
from tests.gui.samples import SAMPLES

# Panels


def test_full_panels_begin_where_the_notice_says_and_it_is_shown_at_the_start_too() -> None:
    sample = SAMPLES['h100x8']
    view = ViewState(mode='full')
    (text,) = texts(state_of(sample, 120, 30, view))
    rows = int(text.split()[3])
    assert text == f'Full panels need {rows} rows'
    assert not panel_rows(state_of(sample, 120, rows - 1, view)).is_full
    assert panel_rows(state_of(sample, 120, rows, view)).is_full
    assert not texts(state_of(sample, 120, rows, view))
    empty = sample._replace(devices=(), processes=(), sequence=1)
    assert texts(arrived(state_of(empty, 120, 30, view), sample._replace(sequence=2))) == [text]
    low = state_of(SAMPLES['one'], 100, 10)
    assert texts(pressed(low, 'f')) == ['Full panels need 11 rows']


def test_hosts_without_room_are_hidden_in_advance_and_not_shown_by_accident() -> None:
    state = state_of(SAMPLES['h100x8'], width=60, height=9)
    assert panel_rows(state).host == 0
    hidden = pressed(state, 'H')
    assert not hidden.view.show_host
    state, effects = press(hidden, 'H')
    assert (state.view.show_host, effects) == (True, (RingBell(),))
    assert texts(state) == ['The host needs a higher screen']


# Graphs


# Freezing


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


def test_layout_of_the_main_screen_does_not_change_on_the_page_of_a_gpu() -> None:
    state = pressed(state_of(SAMPLES['h100x8']), 'Tab', 'Enter')
    for key in 'afc':
        after_key = pressed(state, key)
        assert after_key.view == state.view
        assert texts(after_key) == ['The page of a GPU has one layout']
