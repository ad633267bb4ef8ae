"""NamedTuple behaves like that of typing."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import typing
from typing import Any

import pytest

from nvitop.namedtuple import NamedTuple


class Ours(NamedTuple):
    """A point with a name."""

    x: int
    y: int | None = None
    name: str = 'A'

    @property
    def is_flat(self) -> bool:
        """Return whether the point has no height."""
        return self.y is None

    def moved(self, by: int) -> Ours:
        """Return a point further right."""
        return self._replace(x=self.x + by)

    @staticmethod
    def origin() -> Ours:
        return Ours(0)


class Theirs(typing.NamedTuple):
    """A point with a name."""

    x: int
    y: int | None = None
    name: str = 'A'

    @property
    def is_flat(self) -> bool:
        """Return whether the point has no height."""
        return self.y is None


@pytest.mark.parametrize(
    'what', ['_fields', '_field_defaults', '__doc__', '__module__', '__slots__', '__mro__']
)
def test_class_is_like_one_of_typing(what: str) -> None:
    ours, theirs = getattr(Ours, what), getattr(Theirs, what)
    if what == '__mro__':
        ours, theirs = ours[1:], theirs[1:]
    assert ours == theirs


def test_names_and_annotations() -> None:
    assert (Ours.__name__, Ours.__qualname__) == ('Ours', 'Ours')
    assert Ours.__annotations__ == {'x': 'int', 'y': 'int | None', 'name': 'str'}
    assert typing.get_type_hints(Ours.moved) == {'by': int, 'return': Ours}


def test_values_are_like_those_of_typing() -> None:
    ours, theirs = Ours(1, name='B'), Theirs(1, name='B')
    assert repr(ours) == repr(theirs).replace('Theirs', 'Ours')
    assert tuple(ours) == tuple(theirs)
    assert ours._asdict() == theirs._asdict()
    assert ours.is_flat
    assert ours.moved(2) == Ours(3, name='B')
    assert Ours.origin() == (0, None, 'A')
    assert Ours._make([1, 2, 'C']) == Ours(1, 2, 'C')
    assert pickle.loads(pickle.dumps(ours)) == ours
    with pytest.raises(TypeError, match='missing'):
        Ours()  # type: ignore[call-arg]


class Subclass(Ours):
    """A subclass, whose instances have attributes."""


def test_subclass_keeps_its_attributes() -> None:
    given = Subclass(1)
    given.color = 'red'  # type: ignore[attr-defined]
    for made in (copy.copy(given), pickle.loads(pickle.dumps(given))):
        assert (made, vars(made)) == (given, {'color': 'red'})


def test_help_and_signatures_are_like_those_of_typing() -> None:
    def parameters(named: Any) -> list[tuple[str, Any]]:
        return [(p.name, p.default) for p in inspect.signature(named).parameters.values()]

    assert parameters(Ours) == parameters(Theirs)
    text = pydoc.render_doc(Ours, renderer=pydoc.TextDoc())
    assert 'A point with a name.' in text
    assert 'Return whether the point has no height.' in text
