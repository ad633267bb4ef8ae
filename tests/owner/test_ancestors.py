"""Owners that the ancestors of a process show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nvitop.owner.statements import (
    Ancestor,
    ContainerName,
    ancestor_layers,
    container_names,
    parse_step_title,
    tmux_name,
)
from tests.owner.values import CONTAINER, OUTER, POD, is_safe

INIT = Ancestor(1, 'systemd')


def conmon(pid: int, container_id: str, name: str) -> Ancestor:
    return Ancestor(pid, 'conmon', ['/usr/bin/conmon', '-c', container_id, '-n', name])


def test_titles_of_step_daemons() -> None:
    assert parse_step_title('slurmstepd: [42.0]') == ('42', '0')
    assert parse_step_title('slurmstepd: [42]') == ('42', '')
    assert parse_step_title('slurmstepd: [42.0] x') is None
    assert parse_step_title('slurmstepd: [.0]') is None


def test_terminals_of_other_users() -> None:
    chain = [
        Ancestor(40, 'bash'),
        Ancestor(30, 'tmux: server', ['tmux', 'new', '-s', 'main']),
        Ancestor(25, 'node', ['/home/me/.vscode-server/cli/node', 'server-main.js']),
        Ancestor(21, 'screen', ['SCREEN', '-S', 'train']),
        Ancestor(20, 'sshd', ['sshd: alice@pts/0']),
        INIT,
    ]
    layers = ancestor_layers(chain)
    assert list(map(str, layers)) == ['ssh alice@pts/0', 'screen train', 'vscode', 'tmux server 30']
    assert all(layer.claim for layer in layers)


def test_arguments_of_a_tmux_server_name_its_first_session() -> None:
    server = Ancestor(30, 'tmux: server', ['tmux', 'new', '-s', 'main'])
    assert tmux_name(server, '0') == 'main'
    assert tmux_name(server, '1') is None
    assert tmux_name(None, '0') is None


def test_monitors_name_their_containers() -> None:
    kubelet = f'k8s_main_train-0_ml_{POD}_2'
    shim = ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'moby', '-id', OUTER]
    chain = [conmon(9, CONTAINER, 'web'), Ancestor(8, 'containerd-shim', shim), INIT]
    assert [*container_names(chain)] == [
        ContainerName(OUTER, 'docker'),
        ContainerName(CONTAINER, 'podman', 'web'),
    ]
    assert [*container_names([conmon(9, CONTAINER, kubelet)])] == [
        ContainerName(CONTAINER, 'cri-o', 'main', 'ml/train-0', POD)
    ]
    assert [*container_names([conmon(9, CONTAINER[1:], 'web')])] == []
    assert [*container_names([conmon(9, CONTAINER, 'a\x1b[2J')])] == [
        ContainerName(CONTAINER, 'podman')
    ]


@given(st.text(), st.lists(st.text()))
def test_any_ancestors_are_read(name: str, cmdline: list[str]) -> None:
    for each in (name, 'slurmstepd', 'tmux: server', 'screen', 'sshd', 'node', 'conmon'):
        chain = [Ancestor(9, each, cmdline, is_roots=True)]
        assert all(is_safe(str(layer)) for layer in ancestor_layers(chain))
        assert [*container_names(chain)] == []
