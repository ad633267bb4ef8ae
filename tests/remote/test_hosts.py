"""Names of machines on the command line."""

from __future__ import annotations

import pytest

from nvitop.remote.hosts import HostsError, expand, targets


def test_patterns_keep_zeros_and_order() -> None:
    assert expand('rack[1-2]-gpu[08-10]') == [
        *('rack1-gpu08', 'rack1-gpu09', 'rack1-gpu10'),
        *('rack2-gpu08', 'rack2-gpu09', 'rack2-gpu10'),
    ]
    assert targets(['b,a[1,3]', 'ann@b', 'b']) == ['b', 'a1', 'a3', 'ann@b']


#: Names that are options, commands or no patterns.
REFUSED = '-Fx|a b|a;reboot|$(x)|gpu[01-|gpu[]|g[9-1]|g[1-99999]|g\x1b[1m'


@pytest.mark.parametrize('name', REFUSED.split('|'))
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(HostsError):
        targets([name])


def test_there_are_not_too_many() -> None:
    with pytest.raises(HostsError, match='more than 1000 machines'):
        targets(['a[1-600]', 'b[1-600]'])
