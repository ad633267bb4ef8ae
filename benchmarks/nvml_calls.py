"""Counts NVML calls of a program: ``python benchmarks/nvml_calls.py MODULE:FUNCTION [ARG …]``.

Calls the function in this process, then prints as JSON how often each NVML function was called, and
which queries were repeated: the same function with the same input. The file imports nothing of
nvitop, so that the Python of a peer can run it.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import importlib
import json
import os
import sys
from typing import Any, Callable, Counter

#: Error code of a query whose result did not fit.
INSUFFICIENT_SIZE = 7
#: Functions that are not queries.
NO_QUERIES = ('nvmlInit', 'nvmlShutdown', 'nvmlErrorString')

#: (function, its input) → number of calls.
queries: Counter[tuple[str, str]] = collections.Counter()


def count_calls(pynvml: Any) -> None:
    """Count all calls through the binding from now on."""
    find: Callable[[str], Any] = pynvml._nvmlGetFunctionPointer
    counted: dict[str, Callable[..., int]] = {}

    def find_counted(name: str) -> Callable[..., int]:
        if name not in counted:
            counted[name] = _counted(name, find(name))
        return counted[name]

    pynvml._nvmlGetFunctionPointer = find_counted


def _counted(name: str, function: Any) -> Callable[..., int]:
    def call(*args: Any) -> int:
        query = name, ' '.join(map(_input, args))  # before the call writes its result
        code = int(function(*args))
        if code != INSUFFICIENT_SIZE:
            queries[query] += 1
        else:
            queries[name, f'{query[1]} (did not fit)'] += 1
        return code

    return call


def _input(value: Any) -> str:
    """Return the value of an argument; of a pointer, the value that it points to."""
    if isinstance(value, ctypes._Pointer):
        return hex(ctypes.addressof(value.contents)) if value else 'NULL'
    target = getattr(value, '_obj', value)  # of byref()
    if isinstance(target, ctypes._SimpleCData):
        return '' if target is not value else repr(value.value)
    if isinstance(target, (ctypes.Structure, ctypes.Array)):
        return bytes(target).hex()
    return repr(value)


def report(counted: Counter[tuple[str, str]], gpus: int) -> dict[str, Any]:
    """Return the number of calls of each function, and repeated queries."""
    names: Counter[str] = collections.Counter()
    for (name, _), times in counted.items():
        names[name] += times
    calls = sum(names.values())
    again = [
        {'function': name, 'input': given, 'times': times}
        for (name, given), times in counted.items()
        if times > 1 and not name.startswith(NO_QUERIES)
    ]
    return {'gpus': gpus, 'calls': calls, 'functions': dict(names.most_common()), 'again': again}


def main() -> None:
    """Run the function and print the report after its output."""
    import pynvml

    count_calls(pynvml)
    module, _, function = sys.argv[1].partition(':')
    sys.argv = [function, *sys.argv[2:]]
    sys.path[0] = os.getcwd()
    with contextlib.suppress(SystemExit):
        getattr(importlib.import_module(module), function)()
    counted = queries.copy()
    pynvml.nvmlInit()
    gpus = pynvml.nvmlDeviceGetCount()
    print('\n' + json.dumps(report(counted, gpus)))


if __name__ == '__main__':
    main()
