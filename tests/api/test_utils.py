"""NA, units, colors, snapshots."""

from __future__ import annotations

import copy
import io
import json
import math
import operator
import os
import pickle
import time
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Callable, cast

import pytest

from nvitop import simulation
from nvitop.api import termcolor, utils
from nvitop.api.collector import take_snapshots
from nvitop.api.process import HostProcess
from nvitop.api.utils import Snapshot, colored, set_color
from nvitop.basics.units import (
    NA,
    SIZE_UNITS,
    GiB,
    KiB,
    MiB,
    NaType,
    PiB,
    TiB,
    boolify,
    bytes2human,
    human2bytes,
    timedelta2human,
    utilization2string,
)

# NA


def test_na_is_a_falsy_string_and_the_only_instance() -> None:
    assert NaType() is utils.NotApplicable is NA
    assert utils.NotApplicableType is NaType
    assert isinstance(NA, str)
    assert (NA, str(NA), hash(NA), bool(NA)) == ('N/A', 'N/A', hash('N/A'), False)
    copies = [copy.copy(NA), copy.deepcopy(NA)]
    copies += [pickle.loads(pickle.dumps(NA, n)) for n in range(pickle.HIGHEST_PROTOCOL + 1)]
    assert all(each is NA for each in copies)


def test_na_converts_to_numbers() -> None:
    assert float(NA) is math.nan
    assert int(NA) == round(NA) == 0
    for value in (round(NA, 1), +NA, -NA, abs(NA), *divmod(NA, 2), *divmod(2, NA), *divmod(NA, NA)):
        assert math.isnan(value)


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize('operation', OPERATORS)
def test_na_with_numbers_is_nan(operation: Callable[[Any, Any], Any]) -> None:
    for number in (1, 2.5, -3, True, math.inf, math.nan):
        assert math.isnan(operation(NA, number))
        assert math.isnan(operation(number, NA))
        assert math.isnan(operation(NA, NA))
    others: list[Any] = ['str', None, [], ()]
    for other in others:
        for operands in ((NA, other), (other, NA)):
            if other != 'str' or operation is not operator.add:
                with pytest.raises(TypeError):
                    operation(*operands)


@pytest.mark.parametrize('zero', [0, 0.0])
def test_na_divided_by_zero_raises_and_zero_divided_by_na_does_not(zero: float) -> None:
    for divide in (operator.truediv, operator.floordiv, operator.mod, divmod):
        with pytest.raises(ZeroDivisionError):
            divide(NA, zero)
    assert all(math.isnan(value) for value in (zero / NA, zero // NA, zero % NA))


def test_na_compares_with_strings_as_a_string_and_is_greater_than_any_number() -> None:
    for text in ('A', 'N/A', 'Z', ''):
        for compare in (*COMPARISONS, operator.eq):
            assert compare(NA, text) is compare('N/A', text)
            assert compare(text, NA) is compare(text, 'N/A')
    for number in (0, -1, 10**30, 1.5, math.inf, math.nan):
        assert [compare(number, NA) for compare in COMPARISONS] == [True, True, False, False]
        assert [compare(NA, number) for compare in COMPARISONS] == [False, False, True, True]
        assert not operator.eq(number, NA)
    with pytest.raises(TypeError):
        operator.lt(NA, cast(Any, None))


def test_na_concatenates_and_formats_as_string_and_as_number() -> None:
    assert (NA + ' W', 'fan ' + NA) == ('N/A W', 'fan N/A')
    assert operator.mod('%s|%5s|%.1f|%d', (NA, NA, NA, NA)) == 'N/A|  N/A|nan|0'
    for spec, text in [
        ('', 'N/A'), ('>6', '   N/A'), ('^7s', '  N/A  '), ('.2', 'N/'),
        ('.1f', 'nan'), ('x', 'nan'), (',', 'nan'), ('5d', '  nan'), ('8.2f', '     nan'),
        ('.1%', 'nan%'), ('+.1f', '+nan'),
    ]:  # fmt: skip
        assert format(NA, spec) == text
    with pytest.raises(ValueError, match='format'):
        format(NA, 'q')


# Units


@pytest.mark.parametrize(
    ('sizes', 'texts'),
    [
        ([0, 1023, -1], '0B 1023B -1B'),
        ([KiB, 10 * KiB + 511, MiB - 1], '1KiB 10KiB 1024KiB'),
        ([MiB, 100 * MiB, 1000 * MiB, 20 * GiB - MiB], '1.00MiB 100.0MiB 1000MiB 20479MiB'),
        ([20 * GiB, 139.8 * GiB, 1000 * GiB], '20.00GiB 139.8GiB 0.98TiB'),
        ([100 * TiB, 1000 * TiB, 2000 * PiB], '100.0TiB 0.98PiB 2000.0PiB'),
        ([NA, None, 'x', [], math.nan, math.inf], 'N/A N/A N/A N/A N/A N/A'),
        ([Decimal(5 * GiB), Fraction(10 * GiB, 2), str(5 * GiB)], '5120MiB 5120MiB 5120MiB'),
    ],
)
def test_bytes2human(sizes: list[Any], texts: str) -> None:
    assert list(map(bytes2human, sizes)) == texts.split()
    assert bytes2human(b=512, min_unit=KiB) == '0KiB'
    assert bytes2human(1500 * MiB, min_unit=GiB) == '1.46GiB'
    percents: list[Any] = [42, 12.34, 0, NA, math.nan]
    assert list(map(utilization2string, percents)) == ['42%', '12.3%', '0%', NA, NA]


@pytest.mark.parametrize(
    ('texts', 'size'),
    [
        ([512, '512', '512B'], 512),
        (['10k', '10K', '10kb'], 10_000),
        (['10KiB', '10ki'], 10 * KiB),
        (['4GiB', '4 gib'], 4 * GiB),
        (['1.5GiB'], 3 * GiB // 2),
        (['1.K'], 1000),
        ([' 2TB'], 2_000_000_000_000),
        (['9007199254740993KiB'], 9007199254740993 * KiB),
    ],
)
def test_human2bytes(texts: list[int | str], size: int) -> None:
    assert [human2bytes(s=text) for text in texts] == [size] * len(texts)


def test_units_of_sizes_are_those_of_texts() -> None:
    for unit, size in SIZE_UNITS.items():
        assert human2bytes(f'1{unit or ""}') == size
    assert len(SIZE_UNITS) == 13


@pytest.mark.parametrize(
    'text', ['', '-1', -1, 'GiB', '1X', '1iB', '1i', '1e3', '.', '1 2', 'N/A', '٣', '1GiBs']
)
def test_human2bytes_rejects_invalid_sizes(text: int | str) -> None:
    with pytest.raises(ValueError, match='size'):
        human2bytes(text)


@pytest.mark.parametrize(
    ('durations', 'texts'),
    [
        ([-5, 0, 59.9, 75, 3599], '0:00 0:00 0:59 1:15 59:59'),
        ([3600, timedelta(hours=36), 4 * 86400 - 1], '1:00:00 36:00:00 95:59:59'),
        ([NA, None, '75', math.nan, math.inf], 'N/A N/A N/A N/A N/A'),
    ],
)
def test_timedelta2human(durations: list[Any], texts: str) -> None:
    assert [timedelta2human(dt=duration) for duration in durations] == texts.split()
    assert timedelta2human(4 * 86400) == '4.0 days'
    assert timedelta2human(timedelta(hours=23), round=True) == '23:00:00'
    assert timedelta2human(timedelta(hours=36), round=True) == '1.5 days'


@pytest.mark.parametrize(
    ('words', 'default', 'truth'),
    [
        (['true', 'True', ' YES ', 'on', 'enabled', '1', 'oN'], False, True),
        (['false', 'No', 'off', 'DISABLED', '0'], True, False),
        (['maybe'], None, True),
        (['', NA], None, False),
        (['maybe', ''], False, False),
        ([''], True, True),
    ],
)
def test_boolify(words: list[str], default: bool | None, truth: bool) -> None:
    for word in words:
        assert boolify(string=word, default=default) is truth


# Colors


@pytest.fixture
def _own_color_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, '_color', None)
    for name in ('ANSI_COLORS_DISABLED', 'NO_COLOR', 'FORCE_COLOR', 'TERM'):
        monkeypatch.setenv(name, 'restored after the test')
        monkeypatch.delenv(name)


@pytest.mark.usefixtures('_own_color_state')
def test_set_color_affects_colored_and_the_environment() -> None:
    assert colored('hot', 'red') == 'hot'
    set_color(True)
    assert os.environ['FORCE_COLOR']
    assert 'NO_COLOR' not in os.environ
    assert colored(text='hot', color='red') == '\033[31mhot\033[0m'
    set_color(False)
    assert os.environ['NO_COLOR']
    assert 'FORCE_COLOR' not in os.environ
    assert colored('hot', 'red') == 'hot'


# Snapshot


class Thermometer:
    def __init__(self, name: str) -> None:
        self.name = name
        self.reads = 0
        self.killed = 0

    def celsius(self) -> int:
        self.reads += 1
        return 36 + self.reads

    def kill(self) -> None:
        self.killed += 1

    def set_limit(self) -> None:
        self.killed += 1

    def scaled(self, factor: float) -> float:
        return self.celsius() * factor

    def broken(self) -> None:
        raise OSError('broken')


class SpecialSnapshot(Snapshot):
    pass


def test_snapshot_holds_values() -> None:
    before = time.time()
    real = Thermometer('mouth')
    snapshot = Snapshot(real, celsius=20, unit='°C')
    assert before <= snapshot.timestamp <= time.time()
    assert snapshot.real is real
    assert snapshot.celsius == snapshot['celsius'] == 20
    assert list(snapshot) == list(snapshot.keys()) == ['celsius', 'unit']
    assert dict(snapshot) == {'celsius': 20, 'unit': '°C'}
    assert {**snapshot} == dict(snapshot)
    assert 'unit' in snapshot
    assert 'real' not in snapshot
    assert snapshot['real'] is real
    assert real.reads == 0
    assert Snapshot(real, timestamp=5.0).timestamp == 5.0


def test_snapshot_class_has_the_name_of_the_real_class() -> None:
    snapshot = Snapshot(Thermometer('mouth'))
    assert type(snapshot).__name__ == 'ThermometerSnapshot'
    assert isinstance(snapshot, Snapshot)
    assert type(snapshot) is type(Snapshot(Thermometer('other')))
    assert type(SpecialSnapshot(1)).__name__ == 'intSpecialSnapshot'
    assert type(type(snapshot)(5)) is type(Snapshot(5))
    assert type(type(snapshot)(Thermometer('third'))) is type(snapshot)
    assert repr(Snapshot(5, half=2.5, unit=NA)) == (
        "intSnapshot(\n    real=5,\n    half=2.5,\n    unit='N/A',\n)"
    )
    inner = Snapshot(2, name='two', digit='2')
    assert repr(Snapshot('two', inner=inner, name=inner.name)) == (
        'strSnapshot(\n'
        "    real='two',\n"
        "    inner=intSnapshot(\n        real=2,\n        name='two',\n        digit='2',\n    ),\n"
        "    name='two',\n"
        ')'
    )


def test_snapshot_reads_missing_names_once_from_the_real_object() -> None:
    real = Thermometer('mouth')
    snapshot = Snapshot(real, unit='°C')
    assert snapshot.celsius == snapshot['celsius'] == 37
    assert snapshot.name == 'mouth'
    assert real.reads == 1
    assert list(snapshot) == ['unit', 'celsius', 'name']
    assert (len(snapshot), snapshot.get('unit'), snapshot.get('fahrenheit', 0)) == (3, '°C', 0)
    assert snapshot.get('fahrenheit') is None
    with pytest.raises(OSError, match='broken'):
        _ = snapshot.broken
    with pytest.raises(AttributeError, match='fahrenheit'):
        _ = snapshot.fahrenheit


@pytest.mark.parametrize(
    'name', ['scaled', 'kill', 'set_limit', 'begin_gpm', '_private', '__call__']
)
def test_snapshot_calls_no_method_that_has_arguments_or_changes_something(name: str) -> None:
    real = Thermometer('mouth')
    snapshot = Snapshot(real)
    assert not hasattr(snapshot, name)
    with pytest.raises(AttributeError, match=f"'ThermometerSnapshot' has no attribute '{name}'"):
        getattr(snapshot, name)
    with pytest.raises(KeyError):
        snapshot[name]
    assert (real.reads, real.killed, list(snapshot)) == (0, 0, [])


def test_snapshot_values_can_be_assigned_except_real_and_timestamp() -> None:
    snapshot = Snapshot(Thermometer('mouth'), unit='°C')
    snapshot.unit = 'K'
    snapshot['celsius'] = 1
    snapshot['new'] = NA
    assert dict(snapshot) == {'unit': 'K', 'celsius': 1, 'new': NA}
    del snapshot.new
    assert list(snapshot) == ['unit', 'celsius']
    for name in ('real', 'timestamp'):
        with pytest.raises(AttributeError, match='read-only'):
            setattr(snapshot, name, 1)
        with pytest.raises(AttributeError, match='read-only'):
            snapshot[name] = 1
        with pytest.raises(AttributeError, match='read-only'):
            delattr(snapshot, name)


def test_snapshots_of_devices_and_processes_can_be_written_as_json() -> None:
    with simulation.machine('mig', processes='fixed'):
        devices, processes = take_snapshots()
        for snapshot in (*devices, *processes, HostProcess().as_snapshot(['cpu_times', 'status'])):
            values = json.loads(json.dumps(snapshot.to_dict(), allow_nan=False))
            assert list(values) == list(snapshot)
            assert 'N/A' not in values.values()
        mig = next(s for s in processes if s.device.is_mig_device()).to_dict()
    assert (mig['device'], mig['host']['command']) == ([0, 0], 'No Such Process')
    assert (mig['gpu_sm_utilization'], mig['running_time']) == (None, None)
    assert devices[0].to_dict()['memory_info']['total'] == devices[0].memory_total
    other = Snapshot(1, age=timedelta(minutes=1), rates={1: math.inf}, real_object=Decimal(5))
    assert other.to_dict() == {'age': 60.0, 'rates': {'1': None}, 'real_object': '5'}


@pytest.mark.parametrize('kind', [Snapshot, SpecialSnapshot])
def test_snapshot_survives_copy_and_pickle(kind: type[Snapshot]) -> None:
    snapshot = kind(Thermometer('mouth'), celsius=[20], unit=NA)
    pickled = pickle.loads(pickle.dumps(snapshot))
    assert pickled.real.name == 'mouth'
    assert pickled.unit is NA
    for other in (pickled, copy.copy(snapshot), copy.deepcopy(snapshot)):
        assert type(other) is type(snapshot)
        assert dict(other) == dict(snapshot)
        assert other.timestamp == snapshot.timestamp
    assert copy.copy(snapshot).real is snapshot.real
    assert copy.deepcopy(snapshot).celsius is not snapshot.celsius


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ANSI_COLORS_DISABLED', 'NO_COLOR', 'FORCE_COLOR'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('TERM', 'xterm')


@pytest.mark.parametrize(
    ('terminal', 'environment', 'expected'),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {'TERM': 'dumb'}, False),
        (True, {'NO_COLOR': '1'}, False),
        (True, {'NO_COLOR': ''}, True),
        (False, {'FORCE_COLOR': '1'}, True),
        (False, {'FORCE_COLOR': ''}, False),
        (True, {'FORCE_COLOR': '0'}, False),
        (False, {'FORCE_COLOR': '1', 'TERM': 'dumb'}, True),
        (True, {'FORCE_COLOR': '1', 'NO_COLOR': '1'}, False),
        (True, {'FORCE_COLOR': '1', 'ANSI_COLORS_DISABLED': '1'}, False),
    ],
)
def test_each_call_reads_the_environment_and_the_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    monkeypatch.setattr('sys.stdout', Terminal() if terminal else io.StringIO())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert termcolor.can_colorize() is expected
    assert (termcolor.colored('x', 'red') != 'x') is expected
    assert termcolor.can_colorize(force_color=True)
    assert not termcolor.can_colorize(no_color=True, force_color=True)


def test_colors_and_attributes_have_their_ansi_codes() -> None:
    assert termcolor.colored('x', force_color=True) == 'x\033[0m'
    assert termcolor.colored(5, 'light_red', force_color=True) == '\033[91m5\033[0m'
    assert termcolor.colored('x', None, 'on_white', force_color=True) == '\033[107mx\033[0m'
    codes = {'bold': 1, 'dark': 2, 'underline': 4, 'blink': 5, 'reverse': 7, 'concealed': 8}
    for name, code in {**codes, 'strike': 9}.items():
        assert termcolor.colored('x', attrs=[name], force_color=True) == f'\033[{code}mx\033[0m'
    with pytest.raises(KeyError):
        termcolor.colored('x', 'ultraviolet', force_color=True)
