"""pynvml.smi: results as text, as XML, and from the command line."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from nvitop import simulation
from nvitop.compat.pynvml_smi import nvidia_smi
from nvitop.compat.pynvml_smi.__main__ import main
from nvitop.compat.pynvml_smi.smi import format_tree, tree_to_xml
from tests.compat.machines import machine
from tests.programs import run_program


def elements(text: str) -> list[ET.Element]:
    """The ``gpu`` elements of a document."""
    root = ET.fromstring(text)
    assert root.tag == 'nvidia_smi'
    return root.findall('gpu')


def texts(element: ET.Element, path: str) -> list[str | None]:
    return [found.text for found in element.findall(path)]


def test_control_characters_are_replaced() -> None:
    assert format_tree({'name': 'a\x1b[2Jb\nc\u202ed'}) == '  name: a�[2Jb�c�d\n'


@pytest.mark.parametrize(
    'name',
    [
        '<a> & \'b\' "c"',
        '</gpu>',
        ']]>',
        'tab\tnew\nline',
        '視覚化 🚀',
        '\x1b[31m\x00\x7f',
        '\udc80',
    ],
)
def test_any_process_name_is_escaped_in_xml(name: str) -> None:
    tree: dict[str, Any] = {'gpu': [{'processes': [{'process_name': name}]}]}
    (gpu,) = elements(tree_to_xml(tree, ['<"id">']))
    assert gpu.get('id') == '<"id">'
    (text,) = texts(gpu, 'processes/process_info/process_name')
    shown = ''.join('�' if c in '\x1b\x00\udc80' else c for c in name)
    assert text == shown


# The command line


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_program('-m', 'nvitop.compat.pynvml_smi', *arguments, NVITOP_DEMO='old-driver')


def test_module_prints_a_query() -> None:
    finished = run('memory.total,', 'count')
    assert finished.returncode == 0
    assert finished.stdout.splitlines() == [
        '  count: 2',
        '  gpu: [1 of 2]',
        '    fb_memory_usage:',
        '      total: 32480.0',
        '      unit: MiB',
        '  gpu: [2 of 2]',
        '    fb_memory_usage:',
        '      total: 11178.0',
        '      unit: MiB',
    ]


def test_unknown_name_exits_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with machine():
        assert main(['memory.fre']) == 2
    out, err = capsys.readouterr()
    assert out == ''
    assert err.startswith(
        "nvidia_smi: error: unknown query name 'memory.fre'; did you mean 'memory.free'?"
    )
    assert err.count('\n') == 1


def test_missing_driver_exits_with_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvidia_smi, '_instance', None)
    with simulation.machine('empty') as gpus:
        gpus.fail('nvmlInitWithFlags', 'DRIVER_NOT_LOADED')
        assert main(['--help-query-gpu']) == 0
        assert capsys.readouterr().out.startswith('timestamp ')
        assert main(['uuid']) == 1
    assert capsys.readouterr() == ('', 'nvidia_smi: error: Driver Not Loaded\n')
