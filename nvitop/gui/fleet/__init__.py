# SPDX-License-Identifier: GPL-3.0-only
"""The screens of ``nvitop fleet``: hosts, GPUs, users. Enter shows one host on the ordinary screens."""
