"""GPUs that the driver should list, from trees of /sys, /proc and /dev as machines have them."""

from __future__ import annotations

import pathlib
import sys

import pytest

from nvitop.platforms.nvidia import expected_gpus, read_pci_gpus, why_denied

pytestmark = pytest.mark.skipif(sys.platform == 'win32', reason='needs symbolic links')

#: Next to the GPUs: a network card, an NVSwitch, and the audio and USB functions of a GeForce.
OTHERS = """\
0000:0a:00.0 0x15b3 0x020700 mlx5_core
0000:07:00.0 0x10de 0x068000 nvidia-nvswitch
0000:41:00.1 0x10de 0x040300 snd_hda_intel
0000:41:00.2 0x10de 0x0c0330 xhci_hcd
"""
SERVER = """\
0000:1b:00.0 0x10de 0x030200 nvidia
0000:43:00.0 0x10de 0x030200 nvidia
0000:61:00.0 0x10de 0x030200 nvidia
"""
ALL = ('0000:1b:00.0', '0000:43:00.0', '0000:61:00.0')


def make_tree(root: pathlib.Path, devices: str) -> str:
    """Write a tree with one line per device: bus ID, vendor, class, driver."""
    for line in (devices + OTHERS).splitlines():
        bus_id, vendor, kind, *driver = line.split()
        folder = root / 'sys/bus/pci/devices' / bus_id
        folder.mkdir(parents=True)
        (folder / 'vendor').write_text(f'{vendor}\n')
        (folder / 'class').write_text(f'{kind}\n')
        if driver:
            (folder / 'driver').symlink_to(f'../../../../bus/pci/drivers/{driver[0]}')
    return str(root)


def add_driver(root: str, minors: dict[str, int], files: tuple[int, ...]) -> str:
    """Add what the driver shows: its GPUs with the number of their device file, and these files."""
    for bus_id, minor in minors.items():
        folder = pathlib.Path(root, 'proc/driver/nvidia/gpus', bus_id)
        folder.mkdir(parents=True)
        text = f'Model: \t\t NVIDIA H100 80GB HBM3\nBus Location: \t {bus_id}\nDevice Minor: \t {minor}\n'
        (folder / 'information').write_text(text)
    pathlib.Path(root, 'dev').mkdir()
    for number in files:
        pathlib.Path(root, f'dev/nvidia{number}').touch()
    return root


@pytest.mark.parametrize('driver', ['vfio-pci', 'nouveau', 'pci-stub'])
def test_a_gpu_of_another_driver_is_not_expected(tmp_path: pathlib.Path, driver: str) -> None:
    root = make_tree(
        tmp_path,
        SERVER.replace('61:00.0 0x10de 0x030200 nvidia', f'61:00.0 0x10de 0x030200 {driver}'),
    )
    assert expected_gpus(root) == ALL[:2]


def test_virtual_functions_are_not_expected(tmp_path: pathlib.Path) -> None:
    root = make_tree(tmp_path, f'{SERVER}0000:61:00.4 0x10de 0x030200 nvidia\n')
    (tmp_path / 'sys/bus/pci/devices/0000:61:00.4/physfn').symlink_to('../0000:61:00.0')
    assert expected_gpus(root) == ALL


@pytest.mark.parametrize('name', ['GPU Excluded', 'Blacklisted'])
def test_gpus_that_the_administrator_excluded_are_not_expected(
    tmp_path: pathlib.Path, name: str
) -> None:
    root = make_tree(tmp_path, f'{SERVER}0000:c3:00.0 0x10de 0x030200\n')
    minors = {bus_id: number for number, bus_id in enumerate(ALL)}
    add_driver(root, minors, (0, 1, 2))
    for bus_id, word in zip(ALL, ('No', 'Yes', 'No')):
        with (tmp_path / 'proc/driver/nvidia/gpus' / bus_id / 'information').open('a') as file:
            file.write(f'{name}:\t {word}\n')
    assert expected_gpus(root) == (ALL[0], ALL[2], '0000:c3:00.0')


def test_gpus_hidden_by_a_container_are_not_expected(tmp_path: pathlib.Path) -> None:
    unbound = f'{SERVER}0000:c3:00.0 0x10de 0x030200\n'
    # NVIDIA's container runtime hides the other GPUs in /proc, too. MIG changes nothing here.
    root = add_driver(make_tree(tmp_path, unbound), {ALL[1]: 1}, (1,))
    assert expected_gpus(root) == ALL[1:2]


def test_gpus_whose_device_file_is_missing_or_denied_are_not_expected(
    tmp_path: pathlib.Path,
) -> None:
    minors = {ALL[0]: 2, ALL[1]: 0, ALL[2]: 1}
    root = add_driver(make_tree(tmp_path, SERVER), minors, (0, 2))  # docker run --device
    assert expected_gpus(root) == ALL[:2]

    def denied(path: str, mode: int) -> bool:  # a device control group, as of Slurm
        return path.endswith('nvidia0')

    assert expected_gpus(root, denied) == ALL[1:2]


def test_a_damaged_or_missing_tree_is_no_error(tmp_path: pathlib.Path) -> None:
    assert expected_gpus(str(tmp_path)) == ()
    root = make_tree(tmp_path, SERVER)
    folder = tmp_path / 'sys/bus/pci/devices'
    (folder / '0000:1b:00.0/class').write_bytes(b'\xff\xfe' * 5000)
    (folder / '0000:43:00.0/vendor').unlink()
    (folder / '0000:61:00.0/driver').unlink()
    (folder / '0000:61:00.0/driver').mkdir()
    (folder / 'not a bus ID').mkdir()
    (folder / '0000:99:00.0').touch()
    assert [gpu.bus_id for gpu in read_pci_gpus(root)] == ['0000:61:00.0']


def test_device_files_without_access_are_named(tmp_path: pathlib.Path) -> None:
    assert 'control group' in why_denied(str(tmp_path))
    (tmp_path / 'dev').mkdir()
    for name in ('nvidia0', 'nvidia1', 'nvidiactl'):
        (tmp_path / 'dev' / name).touch()
    assert 'control group' in why_denied(str(tmp_path))
    found = why_denied(str(tmp_path), lambda path, _: not path.endswith('1'))
    assert found == 'no access to /dev/nvidia1'
