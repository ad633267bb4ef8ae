# SPDX-License-Identifier: Apache-2.0
"""Prometheus exporter: samples as series with the names of one or several exporters."""
