# SPDX-License-Identifier: Apache-2.0
"""Version of nvitop; other files read it from here."""

from __future__ import annotations

__version__ = '2.0.0'
__license__ = 'Apache-2.0 AND GPL-3.0-only'
__author__ = 'The nvitop authors'
__email__ = ''
__release__ = False

#: Releases of the ``nvidia-ml-py`` binding that nvitop supports, oldest first. Newer releases are
#: accepted too: the requirement has no upper limit.
PYNVML_VERSION_CANDIDATES = (
    '11.450.51',
    '11.450.129',
    '11.460.79',
    '11.470.66',
    '11.495.46',
    '11.510.69',
    '11.515.48',
    '11.515.75',
    '11.525.84',
    '11.525.112',
    '11.525.131',
    '11.525.150',
    '12.535.77',
    '12.535.108',
    '12.535.133',
    '12.535.161',
    '12.550.52',
    '12.550.89',
    '12.555.43',
    '12.560.30',
    '12.570.86',
    '12.570.172',
    '12.575.51',
    '13.580.65',
    '13.580.82',
    '13.580.126',
    '13.590.44',
    '13.590.48',
    '13.595.45',
    '13.610.43',
    '13.615.71',
)
