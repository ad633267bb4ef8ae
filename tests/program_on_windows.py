"""Remove from this Python everything that Windows lacks, then run a program.

This emulates modules, functions, signals, clocks, the platform name and user names, as far as nvitop
uses them. Arguments: a module whose ``main`` to run, and its arguments; or ``-c`` and code.
"""

from __future__ import annotations

import builtins
import concurrent.futures
import ctypes
import getpass
import importlib
import locale
import logging
import multiprocessing
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from typing import Any

import psutil
import pynvml
import termcolor
import wcwidth

#: Folder of nvitop's code; the repository's folder may have the same name.
OURS = str(pathlib.Path(__file__).resolve().parents[1] / 'nvitop') + os.sep
#: Modules that check the platform during import and must see the real one.
LOADED = [
    concurrent.futures,
    ctypes,
    getpass,
    locale,
    logging,
    multiprocessing,
    platform,
    shutil,
    socket,
]
LOADED += [subprocess, tempfile, pynvml, termcolor, wcwidth]

NO_MODULES = ('fcntl', 'grp', 'posix', 'pty', 'pwd', 'resource', 'termios', 'tty')
NOT_IN_OS = (
    'O_CLOEXEC O_NONBLOCK fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp '
    'getuid killpg memfd_create mkfifo openpty pidfd_open pread pwrite register_at_fork '
    'sched_getaffinity setsid tcgetpgrp uname wait4 waitid'
)
NOT_IN_SIGNAL = (
    'alarm pause pidfd_send_signal pthread_kill pthread_sigmask setitimer siginterrupt sigwait'
)
SIGNALS = {'SIGABRT', 'SIGFPE', 'SIGILL', 'SIGINT', 'SIGSEGV', 'SIGTERM', 'SIG_DFL', 'SIG_IGN'}


def hide(module: Any, names: str) -> None:
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)


def without_files_of_linux(function: Any) -> Any:
    """Wrap a function so that nvitop's code finds nothing below ``/proc``."""

    def opened(path: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = sys._getframe(1).f_code.co_filename.startswith(OURS)
        if is_ours and str(path).startswith('/proc'):
            raise FileNotFoundError(2, 'no such file', path)
        return function(path, *args, **kwargs)

    return opened


def become_windows() -> None:
    # pathlib gets an unchanged copy of os, because paths remain those of this system.
    real = types.ModuleType('os')
    vars(real).update(vars(os))
    for name, module in list(sys.modules.items()):
        if name.split('.')[0] == 'pathlib' and hasattr(module, 'os'):
            vars(module)['os'] = real
    for name in NO_MODULES:
        vars(sys)['modules'][name] = None
    # ctypes imports it to load a library on Windows.
    nt = types.ModuleType('nt')
    vars(nt).update(
        _LOAD_LIBRARY_SEARCH_DEFAULT_DIRS=0,
        _LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR=0,
        _getfullpathname=os.path.abspath,
    )
    sys.modules['nt'] = nt
    folders = types.ModuleType('platformdirs')
    for name in ('user_config_dir', 'user_data_dir'):
        vars(folders)[name] = lambda *args, **kwargs: os.path.expanduser('~/AppData/Local/nvitop')
    sys.modules['platformdirs'] = folders
    shell32 = types.SimpleNamespace(IsUserAnAdmin=lambda: 0)
    vars(ctypes)['windll'] = types.SimpleNamespace(shell32=shell32)
    hide(os, NOT_IN_OS)
    hide(signal, NOT_IN_SIGNAL)
    hide(signal, ' '.join(n for n in vars(signal) if n.startswith('SIG') and n not in SIGNALS))
    hide(time, ' '.join(name for name in vars(time) if name.upper().startswith('CLOCK_')))
    vars(psutil).update(LINUX=False, POSIX=False)
    vars(builtins)['open'] = without_files_of_linux(open)
    vars(os)['open'] = without_files_of_linux(os.open)
    type.__setattr__(psutil.Process, 'username', lambda self: 'DESKTOP-7\\ada')
    for name in ('LNAME', 'LOGNAME', 'USER'):
        os.environ.pop(name, None)
    os.environ['USERNAME'] = 'ada'
    vars(sys)['platform'] = 'win32'
    vars(os)['name'] = 'nt'


if __name__ == '__main__':
    assert pathlib.Path('/').exists()
    become_windows()
    if sys.argv[1] == '-c':
        exec(sys.argv[2])
    else:
        del sys.argv[0]
        sys.exit(importlib.import_module(sys.argv[0]).main())
