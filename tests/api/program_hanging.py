"""A helper program that hangs, like one whose CUDA driver hangs."""

from __future__ import annotations

import threading

if __name__ == '__main__':
    threading.Event().wait()
