"""Effects of options on a report."""

from __future__ import annotations

import pytest

from nvitop.console.options import MODES, Options, merge
from nvitop.gui.model.choices import Sort
from nvitop.gui.report import filter_of, report_text
from nvitop.gui.state.ordering import list_processes
from tests.gui.samples import SAMPLES


def listed(options: Options) -> list[str | None]:
    """Return the types of processes that match, from one process of each type."""
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
def test_types_filter_processes(switches: list[str], types: list[str | None]) -> None:
    assert listed(merge(dict.fromkeys(switches, True))) == types


def test_empty_list_of_users_matches_no_process() -> None:
    assert listed(Options(users=())) == []
    assert listed(Options(users=('nobody',))) == []
    assert len(listed(Options(users=(SAMPLES['one'].processes[0].username or '',)))) == 5


def test_gradient_needs_256_colors() -> None:
    sample = SAMPLES['one']
    texts = [
        report_text(sample, Options(colorful=colorful), width=123, colors=colors)
        for colors in (16, 256)
        for colorful in (False, True)
    ]
    assert texts[0] == texts[1]
    assert texts[2] != texts[3]


def test_report_is_full_in_every_mode() -> None:
    sample = SAMPLES['one']
    texts = {report_text(sample, Options(mode=mode), width=100, colors=0) for mode in MODES}
    assert len(texts) == 1
    assert 'UTL:' in texts.pop()
