# SPDX-License-Identifier: Apache-2.0
"""Many machines, from a server with the HTTP API of Prometheus.

Each screen is one query: :mod:`~nvitop.fleet.queries` makes its text, :mod:`~nvitop.fleet.client`
sends it, :mod:`~nvitop.fleet.client` parses the response, and :mod:`~nvitop.fleet.reading`
makes hosts, GPUs and users from it. All but the client are pure.
"""
