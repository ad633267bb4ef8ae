# SPDX-License-Identifier: Apache-2.0
"""Query the CUDA driver, in a helper process, for the devices that are visible to CUDA programs.

CUDA reads its environment variables once, when a process initializes it, so this process cannot
query it. Results are remembered as long as the GPUs stay the same; failed queries are repeated.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import subprocess
import sys
import threading
import time
from typing import Callable, Hashable, NamedTuple

from nvitop.api import libcuda
from nvitop.api._cuda_binding import NOT_INITIALIZED
from nvitop.api.device.handles import digits
from nvitop.basics.log import UNKNOWN_ORDER, warn
from nvitop.platforms.kernel import renew_in_child

#: Time limit in seconds. CUDA takes tens of seconds without persistence mode on many GPUs.
TIMEOUT_SECONDS = 60.0
#: Time in seconds after which a failed query is repeated.
RETRY_SECONDS = 60.0
#: Maximum number of results to remember; the oldest is dropped first.
MAX_RESULTS = 64


class _ProgramResult(NamedTuple):
    #: ``None`` after a failure.
    uuids: tuple[str, ...] | None
    #: When the query was made.
    time: float


_lock = threading.Lock()
renew_in_child(sys.modules[__name__], _lock=threading.Lock)
_results: dict[Hashable, _ProgramResult] = {}


def enumerated_uuids(
    value: str | None,
    order: str | None,
    machine: Hashable,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[str, ...] | None:
    """Return the UUIDs of the devices that CUDA enumerates, as 32 hexadecimal digits each.

    A driver that was replaced by :func:`nvitop.api.libcuda.use_library` is queried with
    ``visible_uuids(value, order)``, if it has such a function.

    Args:
        value: Value of ``CUDA_VISIBLE_DEVICES``, ``None`` if not set.
        order: Value of ``CUDA_DEVICE_ORDER``, ``None`` if not set.
        machine: The GPUs; a result is remembered for each combination of the three.
        clock: Time in seconds.

    Returns:
        The UUIDs, ``None`` if CUDA does not respond.
    """
    replacement = libcuda.used_library()
    if replacement is not None and not isinstance(replacement, ctypes.CDLL):
        visible_uuids = getattr(replacement, 'visible_uuids', None)
        return None if visible_uuids is None else tuple(map(digits, visible_uuids(value, order)))
    key = (value, order, machine)
    with _lock:  # held during the query: other threads wait for the same result
        answer = _results.get(key)
        now = clock()
        if answer is None or (answer.uuids is None and now - answer.time >= RETRY_SECONDS):
            _results.pop(key, None)
            answer = _results[key] = _ProgramResult(_list_devices(value, order), now)
            while len(_results) > MAX_RESULTS:
                del _results[next(iter(_results))]
        return answer.uuids


def forget() -> None:
    """Drop all results, so that the driver is queried again."""
    with _lock:
        _results.clear()


def _list_devices(value: str | None, order: str | None) -> tuple[str, ...] | None:
    """Run the helper process and log its failure."""
    if not sys.executable or getattr(sys, 'frozen', False):
        return None  # sys.executable is the frozen program, not Python
    environment = dict(os.environ)
    for name, text in (('CUDA_VISIBLE_DEVICES', value), ('CUDA_DEVICE_ORDER', order)):
        environment.pop(name, None)
        if text is not None:
            environment[name] = text
    try:
        answer: object = json.loads(_run(environment))
    except subprocess.TimeoutExpired:
        warn('The CUDA driver did not list its devices within %g s.', TIMEOUT_SECONDS)
        return None
    except (OSError, ValueError) as ex:
        warn('Cannot query the CUDA driver for its devices: %s', ex)
        return None
    if isinstance(answer, list):
        return tuple(map(digits, answer))
    if answer == libcuda.CUDA_ERROR_NO_DEVICE:
        return ()
    if answer == NOT_INITIALIZED:
        _report_missing_cuda()
    else:
        warn('The CUDA driver did not list its devices: error code %s', answer)
    return None


@functools.lru_cache(maxsize=None)
def _report_missing_cuda() -> None:
    warn(
        'The order of CUDA devices is not known without libcuda: indices in CUDA_VISIBLE_DEVICES are '
        'read in PCI order. Set CUDA_DEVICE_ORDER=PCI_BUS_ID, or use UUIDs.',
        kind=UNKNOWN_ORDER,
    )


#: The program of the helper process. Its arguments are the module path of this one.
_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
import json
from nvitop.api import libcuda
from nvitop.api._cuda_binding import NOT_INITIALIZED
try:
    print(json.dumps(libcuda.device_uuids()))
except libcuda.CUDAError as error:
    print(error.value)
"""


def _run(environment: dict[str, str]) -> str:
    # Isolated and without site packages, it starts faster and independent of settings.
    process = subprocess.Popen(
        [sys.executable, '-I', '-S', '-', *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        universal_newlines=True,
    )
    try:
        return process.communicate(_PROGRAM, timeout=TIMEOUT_SECONDS)[0]
    except BaseException:
        process.kill()
        # A process that hangs inside the driver cannot be killed.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1.0)
        raise
