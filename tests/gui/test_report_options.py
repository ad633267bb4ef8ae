"""How options become what a report shows."""

from __future__ import annotations

import pytest

from nvitop.console.options import MODES, Options, merge
from nvitop.gui.model.choices import Sort
from nvitop.gui.report import filter_of, report_text
from nvitop.gui.state.ordering import list_processes
from tests.gui.samples import SAMPLES


def listed(options: Options) -> list[str | None]:
    """The types of the processes that are left of one of each type, in order."""
    process = SAMPLES['one'].processes[0]
    processes = [process._replace(type=type_) for type_ in ('C', 'G', 'C+G', 'M', None)]
    return [left.type for left in list_processes(processes, filter_of(options), Sort())]


@pytest.mark.parametrize(
    ('switches', 'types'),
    [
        ([], ['C', 'G', 'C+G', 'M', None]),
        (['compute'], ['C', 'C+G', 'M']),
        (['only_compute'], ['C', 'M', None]),
        (['graphics'], ['G', 'C+G']),
        (['only_graphics'], ['G']),
        (['compute', 'graphics'], ['C+G']),
        (['only_compute', 'only_graphics'], []),
    ],
)
def test_types_are_filtered(switches: list[str], types: list[str | None]) -> None:
    assert listed(merge(dict.fromkeys(switches, True))) == types


def test_no_user_is_none_and_not_all() -> None:
    assert listed(Options(users=())) == []
    assert listed(Options(users=('nobody',))) == []
    assert len(listed(Options(users=(SAMPLES['one'].processes[0].username or '',)))) == 5


def test_a_gradient_needs_256_colours() -> None:
    sample = SAMPLES['one']
    texts = [
        report_text(sample, Options(colorful=colorful), width=123, colors=colors)
        for colors in (16, 256)
        for colorful in (False, True)
    ]
    assert texts[0] == texts[1]
    assert texts[2] != texts[3]


def test_a_report_is_in_full_whatever_the_mode_of_the_monitor() -> None:
    sample = SAMPLES['one']
    texts = {report_text(sample, Options(mode=mode), width=100, colors=0) for mode in MODES}
    assert len(texts) == 1
    assert 'UTL:' in texts.pop()
