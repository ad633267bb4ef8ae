"""Rectangles: splits lose no cells, and sizes are never negative."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.geometry import Rect

SIZES = st.integers(0, 20)
RECTS = st.builds(Rect, st.integers(-5, 20), st.integers(-5, 20), SIZES, SIZES)


def cells(rect: Rect) -> set[tuple[int, int]]:
    return {(x, y) for x in range(rect.x, rect.right) for y in range(rect.y, rect.bottom)}


@given(RECTS, st.integers(-3, 25))
def test_splits_lose_no_cells(rect: Rect, size: int) -> None:
    first, second = rect.split_left(size)
    assert cells(first) | cells(second) == cells(rect)
    assert first.width + second.width == rect.width
    assert first.right == second.x
    first, second = rect.split_top(size)
    assert cells(first) | cells(second) == cells(rect)
    assert first.height + second.height == rect.height
    assert first.bottom == second.y


def test_splits_give_the_named_side_its_size() -> None:
    rect = Rect(2, 3, 10, 8)
    assert rect.split_left(4) == (Rect(2, 3, 4, 8), Rect(6, 3, 6, 8))
    assert rect.split_top(1) == (Rect(2, 3, 10, 1), Rect(2, 4, 10, 7))


@given(RECTS, RECTS)
def test_intersect_has_the_common_cells(a: Rect, b: Rect) -> None:
    common = a.intersect(b)
    assert cells(common) == cells(a) & cells(b)
    assert common.width >= 0
    assert common.height >= 0
    assert common.is_empty == (not cells(common))


@given(RECTS, *[st.integers(0, 12)] * 4)
def test_inset_removes_cells_from_each_side(
    rect: Rect, left: int, top: int, right: int, bottom: int
) -> None:
    inner = rect.inset(left, top, right, bottom)
    expected = {
        (x, y)
        for x, y in cells(rect)
        if rect.x + left <= x < rect.right - right and rect.y + top <= y < rect.bottom - bottom
    }
    assert cells(inner) == expected
    assert rect.inset(left, top) == rect.inset(left, top, left, top)


@given(RECTS, SIZES, SIZES)
def test_centered_rectangle_is_inside_and_in_the_middle(
    rect: Rect, width: int, height: int
) -> None:
    inner = rect.centered(width, height)
    assert cells(inner) <= cells(rect)
    assert (inner.width, inner.height) == (min(width, rect.width), min(height, rect.height))
    assert 0 <= (rect.right - inner.right) - (inner.x - rect.x) <= 1
    assert 0 <= (rect.bottom - inner.bottom) - (inner.y - rect.y) <= 1


def test_contains() -> None:
    rect = Rect(1, 2, 3, 4)
    assert rect.contains(1, 2)
    assert rect.contains(3, 5)
    assert not rect.contains(4, 5)
    assert not rect.contains(3, 6)
