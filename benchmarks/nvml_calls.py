"""Counts what a program asks of NVML: ``python benchmarks/nvml_calls.py MODULE:FUNCTION [ARG …]``.

Calls the function in this process, then prints as JSON how often each function of NVML was called,
and which questions were asked more than once: the same function with the same input. It stands
alone, so that it can be run by the Python of a peer.
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

#: Questions whose answer did not fit, and those that are no questions.
INSUFFICIENT_SIZE = 7
NO_QUESTIONS = ('nvmlInit', 'nvmlShutdown', 'nvmlErrorString')

#: (function, its input) → number of calls.
questions: Counter[tuple[str, str]] = collections.Counter()


def count_calls(pynvml: Any) -> None:
    """Count all calls that are made through the binding from now on."""
    find: Callable[[str], Any] = pynvml._nvmlGetFunctionPointer
    counted: dict[str, Callable[..., int]] = {}

    def find_counted(name: str) -> Callable[..., int]:
        if name not in counted:
            counted[name] = _counted(name, find(name))
        return counted[name]

    pynvml._nvmlGetFunctionPointer = find_counted


def _counted(name: str, function: Any) -> Callable[..., int]:
    def call(*args: Any) -> int:
        question = name, ' '.join(map(_input, args))  # before the answer is written into it
        code = int(function(*args))
        if code != INSUFFICIENT_SIZE:
            questions[question] += 1
        else:
            questions[name, f'{question[1]} (did not fit)'] += 1
        return code

    return call


def _input(value: Any) -> str:
    """What an argument tells the function: of a pointer, what it points to."""
    if isinstance(value, ctypes._Pointer):
        return hex(ctypes.addressof(value.contents)) if value else 'NULL'
    target = getattr(value, '_obj', value)  # of byref()
    if isinstance(target, ctypes._SimpleCData):
        return '' if target is not value else repr(value.value)
    if isinstance(target, (ctypes.Structure, ctypes.Array)):
        return bytes(target).hex()
    return repr(value)


def report(asked: Counter[tuple[str, str]], gpus: int) -> dict[str, Any]:
    """How often what was called."""
    names: Counter[str] = collections.Counter()
    for (name, _), times in asked.items():
        names[name] += times
    calls = sum(names.values())
    again = [
        {'function': name, 'input': given, 'times': times}
        for (name, given), times in asked.items()
        if times > 1 and not name.startswith(NO_QUESTIONS)
    ]
    return {'gpus': gpus, 'calls': calls, 'functions': dict(names.most_common()), 'again': again}


def main() -> None:
    """Run the function and print the report, below what the function prints."""
    import pynvml

    count_calls(pynvml)
    module, _, function = sys.argv[1].partition(':')
    sys.argv = [function, *sys.argv[2:]]
    sys.path[0] = os.getcwd()
    with contextlib.suppress(SystemExit):
        getattr(importlib.import_module(module), function)()
    asked = questions.copy()
    pynvml.nvmlInit()
    gpus = pynvml.nvmlDeviceGetCount()
    print('\n' + json.dumps(report(asked, gpus)))


if __name__ == '__main__':
    main()
