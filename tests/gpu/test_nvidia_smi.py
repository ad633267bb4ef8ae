"""The comparison with nvidia-smi finds differences, tested without a GPU."""

from __future__ import annotations

import pytest

from tests.gpu.nvidia_smi import different_cells, names_in_help


@pytest.mark.parametrize(
    ('column', 'before', 'text', 'after', 'is_same'),
    [
        ('name', 'H100', 'H100', 'H100', True),
        ('name', 'H100', 'H200', 'H100', False),
        ('name', 'H100', 'H200', 'H200', True),
        ('memory.used [MiB]', '10 MiB', '12 MiB', '14 MiB', True),
        ('memory.used [MiB]', '10 MiB', '11 MiB', '10 MiB', False),
        ('memory.used [MiB]', '10 MiB', '10 GiB', '10 MiB', False),
        ('power.draw.instant [W]', '650.00 W', '780.00 W', '700.00 W', True),
        ('power.limit [W]', '700.00 W', '650.00 W', '700.00 W', False),
        ('utilization.gpu [%]', '99 %', '[N/A]', '99 %', False),
        ('temperature.gpu', '40', '44', '41', True),
        ('temperature.gpu.tlimit', '-1', '-4', '0', True),
        ('hostname', 'node', '[N/A]', 'node', True),
    ],
)
def test_different_cells_are_found(
    column: str, before: str, text: str, after: str, is_same: bool
) -> None:
    ours, theirs, later = ([['index', column], ['0', cell]] for cell in (before, text, after))
    assert list(different_cells(ours, theirs, later)) == (
        [] if is_same else [(1, column.partition(' [')[0])]
    )


def test_different_headers_and_rows_are_found() -> None:
    table = [['index', 'power.draw [W]'], ['0', '70.00 W']]
    renamed = [['index', 'power.draw'], ['0', '70.00 W']]
    assert list(different_cells(table, renamed, table)) == [(0, 'power.draw')]
    assert list(different_cells(table, table[:1], table)) == [(0, '')]
    assert list(different_cells(table, table, table[:1])) == [(0, '')]


def test_names_in_help_are_those_at_the_start_of_a_line() -> None:
    text = 'Properties:\n\n"name" or "gpu_name"\nThe name.\n\n"0: Default" is a mode.\n'
    assert names_in_help(text) == ['name', 'gpu_name']
