# SPDX-License-Identifier: Apache-2.0
"""The module ``pynvml`` of the package ``nvidia-ml-py``, found and checked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Iterable

#: Names that nvitop cannot work without.
_REQUIRED = ('NVMLError', 'nvmlInitWithFlags', '_nvmlGetFunctionPointer', 'nvmlLib')
#: Packages that install another ``pynvml`` over the one of ``nvidia-ml-py``.
_RIVALS = ('pynvml', 'nvidia-ml-py3', 'py3nvml')
#: Names that the binding assigns while it runs, so their values must not be kept.
_LIVE_NAMES = frozenset({'nvmlLib'})


def missing_names(module: object) -> list[str]:
    """Return the names that ``module`` lacks to be a binding that nvitop can work with."""
    return [name for name in _REQUIRED if not hasattr(module, name)]


def explain_binding(module: object = None) -> str:
    """Explain why the installed ``pynvml`` is not the NVML binding, and how to repair it.

    Other packages install a module of the same name over the one of ``nvidia-ml-py``. Some of them
    work anyway; the text is a hint then. With the others, ``import nvitop.libnvml`` raises an
    :class:`ImportError` with this text.

    Args:
        module: The module to check; by default the installed one.

    Returns:
        Several lines of text, ``''`` if the module is the NVML binding.
    """
    if module is None:
        module = importlib.import_module('pynvml')
    missing = missing_names(module)
    if not missing:
        return ''
    rivals = ', '.join(_installed_rivals())
    return (
        f'The module pynvml at {getattr(module, "__file__", "an unknown path")} is not from the '
        f'package nvidia-ml-py: it has no {", ".join(missing)}. '
        + (
            f'Another package was installed over it: {rivals}.'
            if rivals
            else 'Another package was installed over it, or its installation is broken.'
        )
        + f'\n{_repair_advice()}'
    )


def _repair_advice() -> str:
    return (
        f'To repair it:  pip uninstall -y {" ".join(_RIVALS)}'
        ' && pip install --force-reinstall nvidia-ml-py\n'
        'To keep it:    install nvitop in a separate environment (pipx, uv tool)'
    )


def _installed_rivals() -> list[str]:
    packages = (package for name in _RIVALS for package in _distributions(name))
    return [f'{package.metadata["Name"]} {package.version}' for package in packages]


def binding_version() -> str:
    """Return the version of the installed package ``nvidia-ml-py``, ``''`` if it is unknown."""
    versions = [package.version for package in _distributions('nvidia-ml-py')]
    return versions[0] if versions else ''


def _distributions(name: str) -> Iterable[Any]:
    from importlib import metadata  # 20 ms, only for messages and reports

    return metadata.distributions(name=name)


def find_binding() -> Any:
    """Import the module with NVML's functions; an ImportError explains what to do."""
    try:
        module = importlib.import_module('pynvml')
    except Exception as error:
        # A broken or foreign module may raise anything.
        if isinstance(error, ModuleNotFoundError) and error.name == 'pynvml':
            raise ImportError(
                'nvitop needs the package nvidia-ml-py (module pynvml): pip install nvidia-ml-py'
            ) from error
        raise ImportError(
            f'The module pynvml cannot be imported: {type(error).__name__}: {error}.\n'
            + _repair_advice()
        ) from error
    if missing_names(module):
        # Packages that replace the module by a directory have the functions one level deeper.
        inner = getattr(module, 'nvml', None)
        if inner is None or missing_names(inner):
            raise ImportError(explain_binding(module))
        return inner
    return module


BINDING: Any = find_binding()


def is_constant(name: str) -> bool:
    """Return whether a public name of the binding keeps its value."""
    return not name.startswith('_') and name not in _LIVE_NAMES


def call_driver(name: str, *args: Any) -> None:
    """Call an entry point with ctypes values; NVMLError if that fails, or the driver lacks it."""
    code = BINDING._nvmlGetFunctionPointer(name)(*args)
    if code:
        raise NVMLError(code)


def encoded(value: Any) -> Any:
    """Return text as bytes, anything else as it is. Releases of the binding disagree on the type."""
    return value.encode() if isinstance(value, str) else value


if TYPE_CHECKING:

    class LibraryMismatchError(Exception):
        """Raised by newer bindings if the driver lacks one of certain functions."""

    class NVMLError(Exception):
        """A failed NVML call. :attr:`value` is NVML's return code."""

        value: int

        def __init__(self, value: int = ...) -> None:
            """Create the error for a return code."""

    class NVMLError_FunctionNotFound(NVMLError): ...

    class NVMLError_GpuIsLost(NVMLError): ...

    class NVMLError_InvalidArgument(NVMLError): ...

    class NVMLError_LibraryNotFound(NVMLError): ...

    class NVMLError_NotFound(NVMLError): ...

    class NVMLError_NotSupported(NVMLError): ...

    class NVMLError_Uninitialized(NVMLError): ...

    class NVMLError_Unknown(NVMLError): ...

    class c_nvmlDevice_t:
        """An opaque handle of a device."""
else:
    LibraryMismatchError = getattr(
        BINDING, 'NVMLLibraryMismatchError', BINDING.NVMLError_FunctionNotFound
    )
    NVMLError = BINDING.NVMLError
    NVMLError_FunctionNotFound = BINDING.NVMLError_FunctionNotFound
    NVMLError_GpuIsLost = BINDING.NVMLError_GpuIsLost
    NVMLError_InvalidArgument = BINDING.NVMLError_InvalidArgument
    NVMLError_LibraryNotFound = BINDING.NVMLError_LibraryNotFound
    NVMLError_NotFound = BINDING.NVMLError_NotFound
    NVMLError_NotSupported = BINDING.NVMLError_NotSupported
    NVMLError_Uninitialized = BINDING.NVMLError_Uninitialized
    NVMLError_Unknown = BINDING.NVMLError_Unknown
    c_nvmlDevice_t = BINDING.c_nvmlDevice_t
