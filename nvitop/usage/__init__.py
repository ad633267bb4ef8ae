# SPDX-License-Identifier: Apache-2.0
"""Who used how many GPU-hours: ``nvitop usage``, from recordings or from Prometheus."""
