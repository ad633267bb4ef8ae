# SPDX-License-Identifier: Apache-2.0
"""The binding: the module ``pynvml`` of the package ``nvidia-ml-py``, found and checked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: What a binding must have for nvitop to work over it.
_REQUIRED = ('NVMLError', 'nvmlInitWithFlags', '_nvmlGetFunctionPointer', 'nvmlLib')
#: Packages that put another ``pynvml`` over the one of ``nvidia-ml-py``.
_RIVALS = ('pynvml', 'nvidia-ml-py3', 'py3nvml')
#: Changed by the binding while it runs, so never kept.
_LIVE_NAMES = frozenset({'nvmlLib'})


def missing_names(module: object) -> list[str]:
    """The names that ``module`` lacks to be a binding nvitop can work over."""
    return [name for name in _REQUIRED if not hasattr(module, name)]


def explain_binding(module: object = None) -> str:
    """Why the ``pynvml`` that was found is not ``nvidia-ml-py``, and what to do; ``''`` if it is.

    Other packages install a module of the same name over the original. Some of them work all the
    same (then this is a hint), some do not (then importing :mod:`nvitop.api.libnvml` raised an
    :class:`ImportError` with this text).
    """
    if module is None:
        module = importlib.import_module('pynvml')
    missing = missing_names(module)
    if not missing:
        return ''
    rivals = ', '.join(_installed_rivals())
    return (
        f'The module pynvml at {getattr(module, "__file__", "an unknown place")} is not the one of '
        f'the package nvidia-ml-py: it has no {", ".join(missing)}. '
        + (
            f'Another package was installed over it: {rivals}.'
            if rivals
            else 'Another package was installed over it, or its installation is broken.'
        )
        + f'\n{_advise_repair()}'
    )


def _advise_repair() -> str:
    return (
        f'To repair it:        pip3 uninstall -y {" ".join(_RIVALS)}'
        ' && pip3 install --force-reinstall nvidia-ml-py nvitop\n'
        'To leave it alone:   run nvitop in an environment of its own (pipx run nvitop, uvx nvitop)'
    )


def _installed_rivals() -> list[str]:
    from importlib import metadata  # only needed to explain: 20 ms

    packages = (path for name in _RIVALS for path in metadata.distributions(name=name))
    return [f'{package.metadata["Name"]} {package.version}' for package in packages]


def find_binding() -> Any:
    """The module with NVML's functions.

    Raises:
        ImportError: There is no binding, or one that nvitop cannot work over; the message explains.
    """
    try:
        module = importlib.import_module('pynvml')
    except Exception as error:
        # A module that is broken, or not the binding at all, may raise anything.
        if isinstance(error, ModuleNotFoundError) and error.name == 'pynvml':
            raise ImportError(
                'nvitop needs the package nvidia-ml-py (module pynvml): pip3 install nvidia-ml-py'
            ) from error
        raise ImportError(
            f'The module pynvml cannot be imported: {type(error).__name__}: {error}.\n'
            + _advise_repair()
        ) from error
    if missing_names(module):
        # Packages that replace the module by a directory keep the functions one level deeper.
        inner = getattr(module, 'nvml', None)
        if inner is None or missing_names(inner):
            raise ImportError(explain_binding(module))
        return inner
    return module


BINDING: Any = find_binding()


def is_lasting(name: str) -> bool:
    """Whether ``from pynvml import *`` would give this name, and it stays what it is."""
    return not name.startswith('_') and name not in _LIVE_NAMES


if TYPE_CHECKING:

    class LibraryMismatchError(Exception):
        """What newer bindings raise, for some functions, where the driver does not have them."""

    class NVMLError(Exception):
        """Any failure of NVML; :attr:`value` is NVML's return code."""

        value: int

        def __init__(self, value: int = ...) -> None:
            """Make the error of a return code."""

    class NVMLError_FunctionNotFound(NVMLError):
        """The driver does not have this function."""

    class NVMLError_GpuIsLost(NVMLError):
        """The GPU has fallen off the bus or is otherwise inaccessible."""

    class NVMLError_LibraryNotFound(NVMLError):
        """There is no NVML library on this system."""

    class NVMLError_NotFound(NVMLError):
        """What was asked for does not exist."""

    class NVMLError_NotSupported(NVMLError):
        """The device does not support this."""

    class NVMLError_Uninitialized(NVMLError):
        """NVML was not initialised."""

    class NVMLError_Unknown(NVMLError):
        """An internal driver error."""

    class c_nvmlDevice_t:
        """A handle of a device: opaque."""
else:
    LibraryMismatchError = getattr(
        BINDING, 'NVMLLibraryMismatchError', BINDING.NVMLError_FunctionNotFound
    )
    NVMLError = BINDING.NVMLError
    NVMLError_FunctionNotFound = BINDING.NVMLError_FunctionNotFound
    NVMLError_GpuIsLost = BINDING.NVMLError_GpuIsLost
    NVMLError_LibraryNotFound = BINDING.NVMLError_LibraryNotFound
    NVMLError_NotFound = BINDING.NVMLError_NotFound
    NVMLError_NotSupported = BINDING.NVMLError_NotSupported
    NVMLError_Uninitialized = BINDING.NVMLError_Uninitialized
    NVMLError_Unknown = BINDING.NVMLError_Unknown
    c_nvmlDevice_t = BINDING.c_nvmlDevice_t
