# SPDX-License-Identifier: Apache-2.0
"""Live processes: on the host, and on a device."""
