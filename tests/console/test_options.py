"""Options: environment variables, and merging of layers."""

from __future__ import annotations

import pytest

from nvitop.console.options import Options, Thresholds, merge, parse_environment


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', {}),
        ('full', {'mode': 'full'}),
        ('FULL', {'mode': 'full'}),
        (' compact , colorful ', {'mode': 'compact', 'colorful': True}),
        ('full,compact', {}),
        ('auto,full,compact', {}),
        ('colorful,plain', {'colorful': False}),
        ('plain', {'colorful': False}),
        ('light', {'theme': 'light'}),
        ('light,dark', {'theme': 'dark'}),
        ('readonly', {'readonly': True}),
        ('nonsense,readonly', {'readonly': True}),
    ],
)
def test_monitor_mode_variable(text: str, expected: dict[str, object]) -> None:
    assert parse_environment({'NVITOP_MONITOR_MODE': text}) == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('20,60', (20, 60)),
        ('60,20', (20, 60)),
        (' 5 , 99 ', (5, 99)),
        ('1,2,3', (1, 2)),
        ('0,50', None),
        ('50,100', None),
        ('50', None),
        ('a,b', None),
        ('', None),
    ],
)
def test_threshold_variables(text: str, expected: tuple[int, int] | None) -> None:
    wanted = {} if expected is None else {'gpu_thresholds': expected}
    assert parse_environment({'NVITOP_GPU_UTILIZATION_THRESHOLDS': text}) == wanted
    wanted = {} if expected is None else {'memory_thresholds': expected}
    assert parse_environment({'NVITOP_MEMORY_UTILIZATION_THRESHOLDS': text}) == wanted


def test_defaults() -> None:
    assert merge() == merge({}, {}) == Options()


def test_later_layers_win_field_by_field() -> None:
    file = {'mode': 'full', 'interval': 5.0, 'gpu_thresholds': (1, 2)}
    environment = {'mode': 'compact', 'memory_thresholds': (3, 4)}
    flags = {'interval': 2.0}
    options = merge(file, environment, flags)
    assert options.mode == 'compact'
    assert options.interval == 2.0
    assert options.thresholds == Thresholds(gpu=(1, 2), memory=(3, 4))


def test_an_unknown_field_raises() -> None:
    with pytest.raises(ValueError, match='nonsense'):
        merge({'nonsense': 1})
