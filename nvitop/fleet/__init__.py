# SPDX-License-Identifier: Apache-2.0
"""Many machines: a source of hosts, and the lists that are made of them.

:mod:`~nvitop.fleet.source` says what a source is. Each returns all hosts at once;
:mod:`~nvitop.fleet.lists` does the rest. All but the client and the sources are pure.
"""
