"""Run ``make run``: show this machine's GPUs, or a simulated machine if there is no NVIDIA driver."""

from __future__ import annotations

import logging
import sys

from nvitop import Device
from nvitop.cli import main


def arguments(words: list[str]) -> list[str]:
    """Return the arguments for nvitop; print one line when they choose a simulated machine."""
    # This line replaces the longer messages that the library logs about a missing driver.
    logging.getLogger('nvitop').addHandler(logging.NullHandler())
    logging.getLogger('nvitop').propagate = False
    if '--demo' in words or Device.is_available():
        return words
    print('No NVIDIA driver found: showing a simulated machine.', file=sys.stderr)
    return ['--demo', *words]


if __name__ == '__main__':
    sys.exit(main(arguments(sys.argv[1:])))
