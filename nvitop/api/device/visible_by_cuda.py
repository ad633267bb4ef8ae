# SPDX-License-Identifier: Apache-2.0
"""Ask the CUDA driver, in a helper process, which devices a value of ``CUDA_VISIBLE_DEVICES`` shows.

CUDA reads its variables once, when it is initialised in a process, so it cannot be asked here. The
answer is kept for as long as the machine stays the same; a failure is tried again after a while.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import json
import logging
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from nvitop.api import libcuda
from nvitop.api.device import visible_program
from nvitop.api.device.visible_rules import digits
from nvitop.namedtuple import NamedTuple
from nvitop.platforms.nvidia_files import cuda_files

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

LOGGER = logging.getLogger('nvitop.api.device')

#: CUDA needs tens of seconds where the driver is not kept loaded (no persistence mode, many GPUs).
TIMEOUT_SECONDS = 60.0
#: After this long, what failed is tried again.
RETRY_SECONDS = 60.0
#: Answers kept; the oldest goes first.
MAX_ANSWERS = 64


class _ProgramResult(NamedTuple):
    #: :data:`None` for a failure.
    uuids: tuple[str, ...] | None
    #: When it was given.
    time: float


_lock = threading.Lock()
_answers: dict[Hashable, _ProgramResult] = {}


def enumerated_uuids(
    value: str | None,
    order: str | None,
    machine: Hashable,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[str, ...] | None:
    """The UUIDs of the devices CUDA enumerates, 32 hexadecimal digits each; None: it does not say.

    ``value`` and ``order`` are those of ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER``,
    ``None`` where unset. The driver is asked once for each combination with ``machine``. One that
    :func:`nvitop.api.libcuda.use_library` replaced is asked for ``visible_uuids(value, order)``, or
    not at all if it has no such function.
    """
    replacement = libcuda.used_library()
    if replacement is not None and not isinstance(replacement, ctypes.CDLL):
        visible_uuids = getattr(replacement, 'visible_uuids', None)
        return None if visible_uuids is None else tuple(map(digits, visible_uuids(value, order)))
    key = (value, order, machine)
    with _lock:  # held while asking: who asks the same waits for the same answer
        answer = _answers.get(key)
        now = clock()
        if answer is None or (answer.uuids is None and now - answer.time >= RETRY_SECONDS):
            _answers.pop(key, None)
            answer = _answers[key] = _ProgramResult(_ask(value, order), now)
            while len(_answers) > MAX_ANSWERS:
                del _answers[next(iter(_answers))]
        return answer.uuids


def forget() -> None:
    """Forget all answers, so that the driver is asked again."""
    with _lock:
        _answers.clear()


def _ask(value: str | None, order: str | None) -> tuple[str, ...] | None:
    """Run the helper process; its failure is logged, not raised."""
    if not sys.executable or getattr(sys, 'frozen', False):
        return None  # a program packed into one file would start itself
    environment = dict(os.environ)
    for name, text in (('CUDA_VISIBLE_DEVICES', value), ('CUDA_DEVICE_ORDER', order)):
        environment.pop(name, None)
        if text is not None:
            environment[name] = text
    try:
        answer: object = json.loads(_run(environment))
    except subprocess.TimeoutExpired:
        LOGGER.warning('The CUDA driver gave no list of devices in %g s.', TIMEOUT_SECONDS)
        return None
    except (OSError, ValueError) as ex:
        LOGGER.warning('The CUDA driver could not be asked for its devices: %s', ex)
        return None
    if isinstance(answer, list):
        return tuple(map(str, answer))
    if answer == libcuda.CUDA_ERROR_NO_DEVICE:
        return ()
    log = LOGGER.debug if answer == libcuda.CUDA_ERROR_FILE_NOT_FOUND else LOGGER.warning
    log('The CUDA driver gave no list of devices: error code %s', answer)
    return None


def _run(environment: dict[str, str]) -> str:
    """What the program prints."""
    # Isolated and without site packages it starts in a third of the time, and always the same.
    process = subprocess.Popen(
        [sys.executable, '-I', '-S', '-', *cuda_files()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        universal_newlines=True,
    )
    try:
        return process.communicate(inspect.getsource(visible_program), timeout=TIMEOUT_SECONDS)[0]
    except BaseException:
        process.kill()
        # One that hangs inside the driver does not die, and is not waited for.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1.0)
        raise
