"""Stands for the program of the helper process while the CUDA driver hangs."""

from __future__ import annotations

import threading

if __name__ == '__main__':
    threading.Event().wait()
