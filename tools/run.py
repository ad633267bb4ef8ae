"""``make run``: this machine's GPUs, or a simulated machine where there is no NVIDIA driver."""

from __future__ import annotations

import logging
import sys

from nvitop import Device
from nvitop.cli import main


def arguments(given: list[str]) -> list[str]:
    """The arguments to run nvitop with; says so in one line when the machine is simulated."""
    # Why there is no driver is said in one line here, not in the library's several.
    logging.getLogger('nvitop').addHandler(logging.NullHandler())
    logging.getLogger('nvitop').propagate = False
    if '--demo' in given or Device.is_available():
        return given
    print('No NVIDIA driver answers on this machine: showing a simulated one.', file=sys.stderr)
    return ['--demo', *given]


if __name__ == '__main__':
    sys.exit(main(arguments(sys.argv[1:])))
