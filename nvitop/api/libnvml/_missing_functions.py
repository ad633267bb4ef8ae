# SPDX-License-Identifier: Apache-2.0
"""What this driver or this binding lacks, told together, with what to do about it."""

from __future__ import annotations

import re

from nvitop.api.libnvml._binding import BINDING
from nvitop.api.libnvml._query import UNKNOWN_FUNCTIONS, nvmlQuery

#: First branch of the driver → the extra of nvitop with the bindings made for it.
_EXTRAS = ((580, 'cuda13'), (525, 'cuda12'), (450, 'cuda11'), (0, 'cuda10'))


def missing_functions_report() -> str:
    """The functions that were asked for and do not exist here, and the binding to install.

    A few lines for people; ``''`` where nothing is missing. The names alone are in
    :data:`UNKNOWN_FUNCTIONS`.
    """
    names = sorted(UNKNOWN_FUNCTIONS)
    if not names:
        return ''
    in_driver = [name for name in names if hasattr(BINDING, name)]
    in_binding = [name for name in names if name not in in_driver]
    lines = []
    if in_driver:
        driver = nvmlQuery('nvmlSystemGetDriverVersion', default='')
        subject = f'The NVIDIA driver {driver}'.rstrip()
        lines.append(f'{subject} lacks: {", ".join(in_driver)}.')
        lines.append(
            'What they would tell is shown as N/A. A newer driver may have them; a binding made '
            f"for this driver may do without: pip3 install 'nvitop[{_extra(driver)}]'"
        )
    if in_binding:
        subject = f'The binding nvidia-ml-py {_binding_version()}'.rstrip()
        lines.append(f'{subject} lacks: {", ".join(in_binding)}.')
        lines.append(
            'What they would tell is shown as N/A. A newer binding may have them: '
            'pip3 install --upgrade nvidia-ml-py'
        )
    return '\n'.join(lines)


def _extra(driver: str) -> str:
    match = re.match(r'(\d+)', driver)
    branch = int(match.group(1)) if match else _EXTRAS[0][0]
    return next(extra for first, extra in _EXTRAS if branch >= first)


def _binding_version() -> str:
    from importlib import metadata  # only needed to explain: 20 ms

    versions = [package.version for package in metadata.distributions(name='nvidia-ml-py')]
    return versions[0] if versions else ''
