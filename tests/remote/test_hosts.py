"""Names of machines on the command line and in files."""

from __future__ import annotations

import pytest

from nvitop.remote.hosts import HostsError, expand, parse_hosts, targets

INVENTORY = """\
# all machines
gpu01
[lab]
lab-[01:03].example.org  ansible_user=ann   # the new ones
old ansible_host=10.0.0.7 ansible_port=2222
gpu01
[lab:vars]
ansible_python_interpreter=/usr/bin/python3
[everything:children]
lab
"""


def test_patterns_keep_zeros_and_order() -> None:
    assert expand('rack[1-2]-gpu[08-10]') == [
        *('rack1-gpu08', 'rack1-gpu09', 'rack1-gpu10'),
        *('rack2-gpu08', 'rack2-gpu09', 'rack2-gpu10'),
    ]
    names = [target.name for target in targets(['b,a[1,3]', 'ann@b', 'b'])]
    assert names == ['b', 'a1', 'a3', 'ann@b']


def test_files_have_what_ssh_needs() -> None:
    assert [tuple(target) for target in parse_hosts(INVENTORY, 'hosts')] == [
        ('gpu01', 'gpu01'),
        ('lab-01.example.org', 'ann@lab-01.example.org'),
        ('lab-02.example.org', 'ann@lab-02.example.org'),
        ('lab-03.example.org', 'ann@lab-03.example.org'),
        ('old', 'ssh://10.0.0.7:2222'),
    ]


#: Names that are options, commands or no patterns.
REFUSED = '-Fx|a b|a;reboot|$(x)|gpu[01-|gpu[]|g[9-1]|g[1-99999]|g\x1b[1m'


@pytest.mark.parametrize('name', REFUSED.split('|'))
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(HostsError):
        targets([name])
    with pytest.raises(HostsError, match='hosts:2: '):
        parse_hosts(f'good\n{name.replace(" ", "|")}\n', 'hosts')


def test_an_empty_file_is_an_error() -> None:
    with pytest.raises(HostsError, match='hosts: no machine'):
        parse_hosts('# nothing\n[group]\n', 'hosts')
