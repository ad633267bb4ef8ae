# SPDX-License-Identifier: Apache-2.0
"""Identity and modes of a device: names, numbers, versions, inforom; and NVML functions by name."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Callable

from nvitop.api import libnvml
from nvitop.api.device.base import ENABLED, DeviceBase, a_text, an_int, documented
from nvitop.api.libnvml import NVML_ERROR_NOT_SUPPORTED, NVMLError, last_error, nvmlQuery
from nvitop.api.libnvml._errors import CORRUPTED_INFOROM
from nvitop.api.libnvml._overrides import read_gsp_modes, read_pci_info_ext
from nvitop.basics.units import NA, NaType

_OEM, _ECC, _POWER = range(3)
_ARCHITECTURES = {
    2: 'Kepler',
    3: 'Maxwell',
    4: 'Pascal',
    5: 'Volta',
    6: 'Turing',
    7: 'Ampere',
    8: 'Ada',
    9: 'Hopper',
    10: 'Blackwell',
    13: 'Rubin',
}
#: Where a word begins in the name of an NVML function; ``BAR1`` and ``P2P`` are words.
_WORD_START = r'(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])'
#: NVML's number of a product brand → its name. The simulated driver has a table of its own, so that
#: a wrong number here fails a test.
BRANDS = {
    1: 'Quadro',
    2: 'Tesla',
    3: 'NVS',
    4: 'Grid',
    5: 'GeForce',
    6: 'Titan',
    7: 'NVIDIA Virtual Applications',
    8: 'NVIDIA Virtual PC',
    9: 'NVIDIA Virtual Compute Server',
    10: 'NVIDIA RTX Virtual Workstation',
    11: 'NVIDIA Cloud Gaming',
    12: 'Quadro RTX',
    13: 'NVIDIA RTX',
    14: 'NVIDIA',
    15: 'GeForce RTX',
    16: 'Titan RTX',
    18: 'NVIDIA RTX Virtual Game Development',
}
_LOST_NAMES = {'NVMLError_GpuIsLost': 'ERROR: GPU is Lost', 'NVMLError_Unknown': 'ERROR: Unknown'}
_GETTER = 'nvmlDeviceGet'
#: Beginnings of the getters whose first argument is not a device.
_OTHER_GETTERS = (f'{_GETTER}Count', f'{_GETTER}HandleBy')


@documented
class IdentityMixin(DeviceBase):
    """Identity of a device. All values but the check of the inforom are queried once."""

    def name(self) -> str:
        """Product name, such as ``'NVIDIA H100 80GB HBM3'``.

        ``'ERROR: GPU is Lost'`` or ``'ERROR: Unknown'`` if the GPU was lost when the device object
        was created.
        """
        if self._loss is not None:
            return _LOST_NAMES.get(type(self._loss).__name__, f'ERROR: {self._loss}')
        return self._text('nvmlDeviceGetName')

    def uuid(self) -> str:
        """Globally unique identifier of the board or MIG device: ``'GPU-…'``, ``'MIG-…'``."""
        return self._text('nvmlDeviceGetUUID')

    def bus_id(self) -> str:
        """PCI bus ID, ``domain:bus:device.function`` in hexadecimal: ``'00000000:1B:00.0'``.

        A MIG device has the bus ID of its GPU.
        """
        bus_id = getattr(self._query('nvmlDeviceGetPciInfo', static=True), 'busId', NA)
        if isinstance(bus_id, bytes):
            bus_id = bus_id.decode('utf-8', 'replace')
        return str(bus_id) or NA if bus_id is not NA else NA

    serial = a_text('_text', 'nvmlDeviceGetSerial')
    minor_number = an_int('_number', 'nvmlDeviceGetMinorNumber', static=True)
    vbios_version = a_text('_text', 'nvmlDeviceGetVbiosVersion')
    board_part_number = a_text('_text', 'nvmlDeviceGetBoardPartNumber')

    def numa_node(self) -> int | NaType:
        """NUMA node of the GPU's memory; ``NA`` unless the CPU can address it (Grace Hopper)."""
        return self._number('nvmlDeviceGetNumaNodeId', static=True)

    def cuda_compute_capability(self) -> tuple[int, int] | NaType:
        """CUDA compute capability, (major, minor), such as ``(9, 0)``."""
        answer = self._query('nvmlDeviceGetCudaComputeCapability', static=True)
        return (int(answer[0]), int(answer[1])) if answer is not NA else NA

    def architecture(self) -> str:
        """Architecture, such as ``'Hopper'``; ``NA`` if it is newer than this release."""
        return self._named('nvmlDeviceGetArchitecture', _ARCHITECTURES, static=True)

    def brand(self) -> str:
        """Product brand, such as ``'GeForce'``; ``NA`` if it is newer than this release."""
        return self._named('nvmlDeviceGetBrand', BRANDS, static=True)

    def _pci_number(self, name: str) -> str:
        number = getattr(self._query('nvmlDeviceGetPciInfo', static=True), name, NA)
        return f'0x{number:08X}' if isinstance(number, int) and number else NA

    pci_device_id = a_text('_pci_number', 'pciDeviceId')
    pci_subsystem_id = a_text('_pci_number', 'pciSubSystemId')

    def _pci_class(self, name: str) -> str:
        number = getattr(self._query(read_pci_info_ext, static=True), name, NA)
        return f'0x{number:X}' if isinstance(number, int) else NA

    pci_base_class = a_text('_pci_class', 'baseClass')
    pci_subclass = a_text('_pci_class', 'subClass')
    gpu_max_pcie_link_generation = an_int(
        '_number', 'nvmlDeviceGetGpuMaxPcieLinkGeneration', static=True
    )

    def host_max_pcie_link_generation(self) -> int | NaType:
        """Maximum PCIe generation of the system, if the system limits the link; otherwise ``NA``.

        NVML reports only the generation that both GPU and system support.
        """
        both = self._number('nvmlDeviceGetMaxPcieLinkGeneration', static=True)
        gpu = self.gpu_max_pcie_link_generation()
        return both if isinstance(both, int) and isinstance(gpu, int) and both < gpu else NA

    inforom_image_version = a_text('_text', 'nvmlDeviceGetInforomImageVersion')

    def _inforom_version(self, part: int) -> str:
        version = self._text('nvmlDeviceGetInforomVersion', part)
        return version if version != 'N/A' else NA

    inforom_oem_version = a_text('_inforom_version', _OEM)
    inforom_ecc_version = a_text('_inforom_version', _ECC)
    inforom_power_version = a_text('_inforom_version', _POWER)

    def inforom_checksum_validation(self) -> str:
        """Whether the inforom is intact: ``'valid'`` or ``'invalid'``. Checked at each call."""
        answer, error = self._answer('nvmlDeviceValidateInforom')
        if isinstance(error, NVMLError):
            return 'invalid' if error.value == CORRUPTED_INFOROM else NA
        return 'valid' if answer is not NA else NA


@documented
class DriverMixin(DeviceBase):
    """Versions of the driver and of CUDA, and the functions of NVML that have no getter."""

    @staticmethod
    def driver_version() -> str:
        """Version of the driver, such as ``'570.172.08'``.

        NVML: ``nvmlSystemGetDriverVersion`` · nvidia-smi: ``driver_version``

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        version = libnvml.nvmlQuery('nvmlSystemGetDriverVersion')
        return version if isinstance(version, str) else NA

    @staticmethod
    def cuda_driver_version() -> str:
        """Maximum CUDA version that the driver supports, such as ``'12.8'``.

        NVML: ``nvmlSystemGetCudaDriverVersion`` · nvidia-smi: CUDA Version

        Raises:
            NVMLError: NVML cannot be initialized.
        """
        return version_text(libnvml.nvmlQuery('nvmlSystemGetCudaDriverVersion'))

    max_cuda_version = cuda_driver_version

    @staticmethod
    def cuda_runtime_version() -> str:
        """Version of the CUDA runtime that programs find on this host, such as ``'12.9'``.

        ``NA`` if there is none. CUDA: ``cudaRuntimeGetVersion``
        """
        from nvitop.api import libcudart

        try:
            return libcudart.cudaRuntimeGetVersion()
        except libcudart.cudaError:
            return NA

    cudart_version = cuda_runtime_version

    if not TYPE_CHECKING:  # it would hide misspelled names

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """Return a method for any other ``nvmlDeviceGet…`` function, by its snake_case name."""
            function = getter_function(name)
            if function is None:
                raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')

            def method(*args: Any, **kwargs: Any) -> Any:
                return self._call(function, args, kwargs)[0]

            method.__name__ = name
            method.__qualname__ = f'{type(self).__name__}.{name}'
            method.__doc__ = f'Return the result of ``{function}``, ``NA`` if there is none.'
            self.__dict__[name] = method
            return method


def version_text(version: Any) -> str:
    """Return a CUDA version number as text: ``12040`` is ``'12.4'``, and ``NA`` stays ``NA``."""
    if not isinstance(version, int) or version <= 0:
        return NA
    major, minor, revision = version // 1000, version % 1000 // 10, version % 10
    return f'{major}.{minor}.{revision}' if revision else f'{major}.{minor}'


def getter_function(name: str) -> str | None:
    """Return the NVML function of a device for a snake_case name; ``None`` if there is none."""
    return _getters().get(name)


@functools.lru_cache(maxsize=None)
def _getters() -> dict[str, str]:
    """Functions of NVML whose first argument is a device, by the snake_case name of the value."""
    return {
        re.sub(_WORD_START, '_', name[len(_GETTER) :]).lower(): name
        for name in dir(libnvml)
        if name.startswith(_GETTER) and not name.startswith(_OTHER_GETTERS)
    }


_SUPPORTED = {0: 'Not Supported', 1: 'Supported'}
#: Capability of the driver.
_HETEROGENEOUS = 0
#: Capabilities of a device.
_FRACTIONAL, _HETEROGENEOUS_PROFILES, _HETEROGENEOUS_SIZES = range(3)
#: NVML's number of a GPU operation mode → its name.
OPERATION_MODES = {0: 'All On', 1: 'Compute', 2: 'Low Double Precision'}
_ADDRESSING_MODES = {0: 'None', 1: 'HMM', 2: 'ATS'}
# The simulated driver has tables of its own, so that a wrong number here fails a test.
#: NVML's number of a driver model → its name.
DRIVER_MODELS = {0: 'WDDM', 1: 'WDM', 2: 'MCDM'}
#: NVML's number of a compute mode → its name.
COMPUTE_MODES = {0: 'Default', 1: 'Exclusive Thread', 2: 'Prohibited', 3: 'Exclusive Process'}


@documented
class ModeMixin(DeviceBase):
    """Modes, as ``'Enabled'`` or ``'Disabled'`` unless stated otherwise.

    vGPU capabilities are ``'Supported'`` or ``'Not Supported'``, and ``NA`` except on vGPU hosts.
    """

    display_active = a_text('_named', 'nvmlDeviceGetDisplayActive')
    display_mode = a_text('_named', 'nvmlDeviceGetDisplayMode')
    persistence_mode = a_text('_named', 'nvmlDeviceGetPersistenceMode')

    def current_driver_model(self) -> str:
        """Driver model: ``'WDDM'``, ``'WDM'`` (TCC in nvidia-smi) or ``'MCDM'``; ``NA`` except on Windows.

        It changes only when Windows restarts and is queried once.
        """
        return self._named('nvmlDeviceGetCurrentDriverModel', DRIVER_MODELS, static=True)

    driver_model = current_driver_model

    def performance_state(self) -> str:
        """Performance state, from ``'P0'`` (highest) to ``'P15'``."""
        state = self._number('nvmlDeviceGetPerformanceState', maximum=15)
        return f'P{state}' if isinstance(state, int) else NA

    def compute_mode(self) -> str:
        """Which processes may use CUDA: ``'Default'``, ``'Exclusive Process'`` or ``'Prohibited'``.

        Drivers before CUDA 8 also had ``'Exclusive Thread'``.
        """
        return self._named('nvmlDeviceGetComputeMode', COMPUTE_MODES)

    def mig_mode(self) -> str:
        """Whether MIG mode is enabled; ``NA`` for GPUs without MIG, and before R450."""
        return self._named('nvmlDeviceGetMigMode', item=0)

    def is_mig_mode_enabled(self) -> bool:
        """Whether MIG mode is enabled, as a bool. NVML: ``nvmlDeviceGetMigMode``."""
        return self.mig_mode() == 'Enabled'

    def max_mig_device_count(self) -> int:
        """Maximum number of MIG devices of the GPU; 0 without MIG. Queried once.

        NVML: ``nvmlDeviceGetMaxMigDeviceCount``
        """
        count = self._number('nvmlDeviceGetMaxMigDeviceCount', static=True)
        return count if isinstance(count, int) else 0

    driver_model_pending = a_text('_named', 'nvmlDeviceGetPendingDriverModel', DRIVER_MODELS)
    mig_mode_pending = a_text('_named', 'nvmlDeviceGetMigMode', item=1)
    operation_mode = a_text('_named', 'nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=0)
    operation_mode_pending = a_text(
        '_named', 'nvmlDeviceGetGpuOperationMode', OPERATION_MODES, item=1
    )
    memory_addressing = a_text('_named', 'nvmlDeviceGetAddressingMode', _ADDRESSING_MODES)
    gsp_mode = a_text('_named', read_gsp_modes, item=0)
    gsp_mode_default = a_text('_named', read_gsp_modes, item=1)
    dram_encryption = a_text('_named', 'nvmlDeviceGetDramEncryptionMode', item=0)
    dram_encryption_pending = a_text('_named', 'nvmlDeviceGetDramEncryptionMode', item=1)

    def c2c_mode(self) -> str:
        """Whether CPU and GPU are connected chip to chip (Grace); ``NA`` before R535."""
        answer = self._query('nvmlDeviceGetC2cModeInfoV')
        return ENABLED.get(getattr(answer, 'isC2cEnabled', -1), NA)

    def heterogeneous_multi_vgpu(self) -> str:
        """Whether the driver supports vGPUs of several profiles in one guest."""
        if self._handle is None or self.is_mig_device():
            self._missing.reason = self._loss or NVMLError(NVML_ERROR_NOT_SUPPORTED)
            return NA
        function = 'nvmlGetVgpuDriverCapabilities'
        try:
            answer = nvmlQuery(function, _HETEROGENEOUS, ignore_function_not_found=True)
        except NVMLError as error:  # NVML can no longer be initialized
            self._missing.reason = error.with_traceback(None)
            return NA
        self._missing.reason = last_error(function, _HETEROGENEOUS)
        return _SUPPORTED.get(answer, NA)

    def _vgpu_capability(self, capability: int) -> str:
        return _SUPPORTED.get(self._query('nvmlDeviceGetVgpuCapabilities', capability), NA)

    fractional_multi_vgpu = a_text('_vgpu_capability', _FRACTIONAL)
    heterogeneous_vgpu_profiles = a_text('_vgpu_capability', _HETEROGENEOUS_PROFILES)
    heterogeneous_vgpu_sizes = a_text('_vgpu_capability', _HETEROGENEOUS_SIZES)
