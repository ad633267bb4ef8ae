"""Captures of real machines: what nvidia-smi printed there comes back through the simulated driver."""

from __future__ import annotations

import pathlib
from typing import Iterator

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.query.command import main
from nvitop.simulation.capture import is_missing, read_xml
from tests.command_run import CommandRun
from tests.simulation.conftest import NEWEST, needs, scenario_of_capture
from tests.simulation.tables import read_apps, read_capture

pytestmark = needs(*NEWEST)
CAPTURES = pathlib.Path(__file__).parent.parent / 'captures'
MACHINES = sorted(
    path for path in CAPTURES.glob('machines/*.tsv') if not path.name.endswith('.q.tsv')
)
XML = sorted(CAPTURES.glob('xml/*.xml'))
APPS = 'timestamp,gpu_name,gpu_bus_id,gpu_serial,gpu_uuid,pid,process_name,used_gpu_memory'
MIB = 1 << 20
#: Fields whose values differ from a capture, and why. They count as different.
DIFFERENT = {
    'display_mode': 'in the XML since R580, whether a display is attached',
    'pcie.link.gen.hostmax': 'NVML reports no maximum of the host alone',
    'platform.chassis_serial_number': 'N/A in the XML, empty in the CSV of the same driver',
    'platform.gpu_fabric_guid': 'N/A in the XML, 0 in the CSV of the same driver',
}
#: Metrics with an nvidia-smi name.
COMPARED = tuple(m for m in (*METRICS, *EXTENDED_METRICS) if m.query is not None)
#: What nvidia-smi prints for some values, which nvitop still has.
DEPRECATED = '[Requested functionality has been deprecated]'
#: Fields that belong to the moment and the host of the capture.
LOCAL = ('timestamp', 'hostname')


@pytest.mark.parametrize('state', ['idle', 'load'])
@pytest.mark.parametrize('path', MACHINES, ids=lambda path: path.stem)
def test_what_nvidia_smi_printed_comes_back(path: pathlib.Path, state: str) -> None:
    column = 2 if state == 'idle' else 3
    rows = [line.split('\t') for line in path.read_text(encoding='utf-8').splitlines()[1:]]
    with simulation.machine(scenario_of_capture(read_capture(path, state))):
        fields = CommandRun(main, '--query-gpu=' + ','.join(row[0] for row in rows)).out
        apps = CommandRun(main, f'--query-compute-apps={APPS}').out
    header, values = (line.split(', ') for line in fields.splitlines())
    assert header == [row[1] for row in rows]
    different = {
        row[0]
        for row, value in zip(rows, values)
        if value != row[column] and row[0] not in LOCAL and row[column] != DEPRECATED
    }
    assert len(values) == len(rows)
    assert different <= {'pcie.link.gen.hostmax'} <= DIFFERENT.keys()
    expected = read_apps(path.with_suffix('.apps.csv').read_text(encoding='utf-8'), state)
    assert apps.splitlines()[0] == f'{APPS} [MiB]'.replace(',', ', ')
    assert sorted(line.split(', ')[1:] for line in apps.splitlines()[1:]) == sorted(
        list(row.values())[1:] for row in expected
    )


def alike(name: str, xml: str, csv: str) -> bool:
    """Whether the texts of XML and CSV, which have other units, mean the same."""
    if xml == DEPRECATED:
        return True
    if is_missing(xml) or (name.endswith('device_id') and not xml.isalnum()):
        return is_missing(csv)
    if name.startswith('pci.'):
        return int(xml.replace(':', '').replace('.', ''), 16) == int(
            csv.replace(':', '').replace('.', ''), 16
        )
    if name.startswith(('remapped_rows.', 'pcie.link.width', 'temperature.')):
        xml = xml.split()[0].rstrip('x')
    return xml == csv


@pytest.mark.parametrize('path', XML, ids=lambda path: path.stem)
def test_xml_comes_back(path: pathlib.Path) -> None:
    with path.open('rb') as file:
        texts = read_xml(file, path).gpus[0].texts
    texts = {
        metric.query: texts[metric.name]
        for metric in COMPARED
        if metric.query and metric.name in texts and not metric.query.endswith('.supported')
    }
    names = list(texts)
    with simulation.machine(path):
        line = CommandRun(main, '--query-gpu=' + ','.join(names), '--format=csv,noheader').out
    values = line.splitlines()[0].split(', ')
    different = {n for n, value in zip(names, values) if not alike(n, texts[n], value)}
    assert len(names) > 60
    assert different <= DIFFERENT.keys(), [
        (texts[n], v) for n, v in zip(names, values) if n in different
    ]
    assert len(different) <= 0.03 * len(names)


def test_processes_of_a_capture_are_never_those_of_this_host() -> None:
    (path,) = [path for path in MACHINES if 'windows' in path.name]
    scenario = scenario_of_capture(read_capture(path, 'load'))
    processes = tuple(p._replace(pid=1 if p.pid == 2056 else p.pid) for p in scenario.processes)
    with simulation.machine(scenario._replace(processes=processes)):
        ran = CommandRun(
            main,
            '--processes=pid,name,command,start_time,user,gpu_sm_utilization',
            '--format=csv,noheader',
        )
    assert ran.out.startswith('1, dwm.exe, ')
    assert ran.out.splitlines()[0].endswith(', [N/A], [N/A], [N/A]')


HEAD = '<?xml version="1.0"?>'


def hostile() -> Iterator[tuple[str, bytes, str]]:
    whole = XML[0].read_bytes()
    yield 'empty', b' \n', 'empty'
    yield 'foreign', b'<html><body/></html>', 'begins with <html>'
    yield 'report', b'Wed Nov 23 | NVIDIA-SMI 580 |', 'syntax error'
    yield 'binary', b'\x00\xff' * 100, 'damaged'
    yield 'truncated', whole[: len(whole) // 2], 'damaged'
    yield 'no GPU', b'<nvidia_smi_log></nvidia_smi_log>', 'no <gpu>'
    entity = f'{HEAD}<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>'
    yield 'entities', entity.encode(), 'document type has declarations'
    outside = f'{HEAD}<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><nvidia_smi_log/>'
    yield 'external entity', outside.encode(), 'document type has declarations'
    deep = b'<nvidia_smi_log><gpu>' + b'<a>' * 30 + b'</a>' * 30 + b'</gpu></nvidia_smi_log>'
    yield 'depth', deep, 'too many elements'
    yield 'open elements', b'<nvidia_smi_log>' + b'<a>' * 100_000, 'damaged'
    many = b'<nvidia_smi_log><gpu>' + b'<a/>' * 300_000 + b'</gpu></nvidia_smi_log>'
    yield 'elements', many, 'too many elements'
    yield 'size', b'<nvidia_smi_log>' + b' ' * (17 << 20), 'larger than 16 MiB'
    tag = b'<gpu ' + b'a="" ' * 100_000 + b'>'
    yield 'tag', b'<nvidia_smi_log>' + tag, 'damaged'
    processes = b'<process_info/>' * 5001
    data = b'<nvidia_smi_log><gpu><processes>' + processes + b'</processes></gpu></nvidia_smi_log>'
    yield 'processes', data, 'more than 5000 processes'
    gpus = b'<nvidia_smi_log>' + b'<gpu></gpu>' * 65 + b'</nvidia_smi_log>'
    yield 'GPUs', gpus, 'more than 64 GPUs'


@pytest.mark.parametrize(
    ('data', 'message'), [pytest.param(d, m, id=name) for name, d, m in hostile()]
)
def test_other_files_are_refused_with_a_reason(
    data: bytes, message: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'machine.xml'
    path.write_bytes(data)
    with pytest.raises(simulation.ScenarioError, match='nvidia-smi -q -x') as caught:
        simulation.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_elements_are_not_available(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'machine.xml'
    path.write_text('<nvidia_smi_log><gpu><product_name>X</product_name></gpu></nvidia_smi_log>')
    fields = (
        'name,uuid,pci.bus_id,driver_version,memory.total,memory.reserved,memory.used,memory.free,'
        'cuda_driver_version,bar1_memory_used,numa_node,power.draw,clocks.sm,mig.mode.current'
    )
    with simulation.machine(path):
        ran = CommandRun(main, f'--gpu={fields}', '--format=csv,noheader')
    assert ran.out.split(', ', 1) == ['X', ', '.join(['[N/A]'] * 13) + '\n']
    assert ran.err == ''


@pytest.mark.parametrize(
    ('name', 'shown'),
    [
        (b'a\xffb', 'a\ufffdb'),
        (b'a & b', 'a & b'),
        (b'a&b;', 'a&b;'),
        (b'a\x01\x1bb', 'a\ufffd\ufffdb'),
        (b'a&#1;&#xfffe;b', 'a\ufffd\ufffdb'),
        (b'&#228;&lt;&amp;amp;', 'ä<&amp;'),
        (b'\xed\xa0\x80', '\ufffd\ufffd\ufffd'),
        (b'a <module> </b> ]]> <!-- <?c <![CDATA[', 'a <module> </b> ]]> <!-- <?c <![CDATA['),
    ],
)
@pytest.mark.parametrize(
    'around',
    [
        (b'', b''),
        (b'$ nvidia-smi -q -x\r\n', b'\n$ \n'),
        (b'\xef\xbb\xbf', b''),
        (b'', b'<?xml version="1.0"?>\n<nvidia_smi_log></nvidia_smi_log>'),
    ],
)
def test_file_that_is_nearly_xml_is_read(
    name: bytes, shown: str, around: tuple[bytes, bytes], tmp_path: pathlib.Path
) -> None:
    process = b'<process_info><pid>7</pid><process_name>' + name + b'</process_name></process_info>'
    path = tmp_path / 'machine.txt'
    path.write_bytes(
        around[0]
        + b'<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
        b'<nvidia_smi_log><gpu id="x"><processes>'
        + process
        + b'</processes></gpu></nvidia_smi_log>'
        + around[1]
    )
    assert simulation.load(path).processes[0].command == (shown,)


@pytest.mark.parametrize(
    'text',
    [
        '\n==============NVSMI LOG==============\n\nTimestamp   : x\n',
        '+-----+\n| NVIDIA-SMI 595.71.05    Driver Version: 595.71.05 |\n',
        'Sat Nov 28 10:00:00 2026\n+---+\n| NVIDIA-SMI 470.57 |\n',
        'index, name, memory.used [MiB]\n0, NVIDIA H100, 5 MiB\n',
        'timestamp, name, utilization.gpu [%]\n2026/11/28 10:00:00.000, NVIDIA H100, 5 %\n',
        '2026/11/28 10:00:00.000, NVIDIA H100, 5 %\n',
        'GPU 0: NVIDIA H100 (UUID: GPU-1)\n',
        '0, NVIDIA H100, 5 MiB\n',
        '# gpu   sm  mem\n# Idx    %    %\n    0   12    3\n',
    ],
)
@pytest.mark.parametrize('suffix', ['.txt', '.csv', '.toml'])
def test_other_outputs_of_nvidia_smi_are_refused_with_advice(
    text: str, suffix: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / f'machine{suffix}'
    path.write_text(text)
    with pytest.raises(simulation.ScenarioError, match='save the output of "nvidia-smi -q -x"'):
        simulation.load(path)


def test_file_of_powershell_is_recognized_by_its_content(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'machine.txt'
    text = XML[0].read_text(encoding='utf-8')
    path.write_bytes(text.replace('\n', '\r\n').encode('utf-16'))
    with simulation.machine(path):
        assert Device(0).name() == 'NVIDIA A100-SXM4-80GB'


@pytest.mark.parametrize('old', ['405 MHz', '0x', 'Enabled', 'N/A', 'MiB', 'P8', 'C</', '0:'])
@pytest.mark.parametrize('path', XML, ids=lambda path: path.stem)
def test_strange_values_of_a_file_do_no_harm(
    path: pathlib.Path, old: str, tmp_path: pathlib.Path
) -> None:
    text = path.read_text(encoding='utf-8').replace(old, "\u202e'\\[]=-9e999" + old[-2:])
    strange = tmp_path / 'strange.xml'
    strange.write_text(text, encoding='utf-8')
    with simulation.machine(strange):
        assert CommandRun(main, '--gpu=index,name', '--format=csv,noheader').status == 0
