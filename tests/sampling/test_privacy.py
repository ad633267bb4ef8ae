"""Command lines are masked and shortened before they leave the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nvitop.basics.masking import MASK, mask_command, short_command
from nvitop.owner.types import Layer, Owner
from nvitop.sampling.serialization import CommandFilter
from nvitop.sampling.types import ClaimSample, HostProcessSample, ParentProcess, Sample
from tests.sampling.fakes import process_sample

#: Command lines in which secrets are marked: ``--token=«abc»``.
LINES = (Path(__file__).parent / 'command_lines.txt').read_text(encoding='utf-8').splitlines()
SECRET = re.compile('«(.*?)»')


@pytest.mark.parametrize('line', LINES)
def test_no_secret_of_the_corpus_passes(line: str) -> None:
    command = re.sub('[«»]', '', line)
    masked = mask_command(command)
    assert [secret for secret in SECRET.findall(line) if secret in masked] == []
    assert [secret for secret in SECRET.findall(line) if secret in short_command(command, '')] == []
    assert (MASK in masked) or not SECRET.search(line)


def test_harmless_words_stay() -> None:
    harmless, lost = 0, []
    for line in LINES:
        masked = mask_command(re.sub('[«»]', '', line)).split()
        words = SECRET.sub(MASK, line).split()
        harmless += sum(MASK not in word for word in words)
        lost += [(word, line) for word in words if MASK not in word and word not in masked]
    assert len(LINES) >= 150
    assert len(lost) <= 0.02 * harmless, lost


def test_without_commands_no_names_are_kept() -> None:
    notebook = Owner('jupyter', '', 'secret.ipynb', (Layer('jupyter', '', 'secret.ipynb'),))
    process = process_sample(1, command='python3 x', name='python3', owner=notebook)
    process = process._replace(parent=ParentProcess(2, 1.0, 'launcher'))
    sample = Sample(
        0.0,
        processes=(process, process_sample(2, owner=Owner('slurm', '42', 'train'))),
        host_processes=(HostProcessSample(3, 1.0, command='launcher x', name='launcher'),),
    )
    kept = CommandFilter('none').apply(sample)
    text = repr(kept)
    assert not [word for word in ('python3', 'launcher', 'secret') if word in text]
    assert kept.processes[1].owner == Owner('slurm', '42', 'train')
    assert 'secret.ipynb' in repr(CommandFilter('name').apply(sample))


@pytest.mark.parametrize(
    ('command', 'short'),
    [
        ('python3 /home/ann/train.py --token=abc', 'python3 train.py'),
        (
            '/opt/conda/bin/python3.11 -u -m torch.distributed.run x',
            'python3.11 -m torch.distributed.run',
        ),
        ("python -c 'import secret'", 'python'),
        ('/usr/lib/xorg/Xorg :0', 'Xorg'),
        ('java -Xmx1g -jar /srv/app.jar', 'java -jar app.jar'),
        ("'/opt/my tools/run' x", 'run'),
        ("'unclosed quote", 'unclosed'),
        ('', 'name'),
    ],
)
def test_short_commands(command: str, short: str) -> None:
    assert short_command(command, 'name') == short


def test_commands_of_claims_are_shortened_and_masked() -> None:
    claim = ClaimSample('GPU-1', 'ann', 7, 1.0, 'python train.py --api-key 1')
    for how, command in (
        ('name', 'python train.py'),
        ('full', f'python train.py --api-key {MASK}'),
    ):
        (shown,) = CommandFilter(how).apply(Sample(1.0, claims=(claim,))).claims
        assert shown.command == command
