# SPDX-License-Identifier: Apache-2.0
"""Who used and held GPUs: how time and energy are divided, and sums of it."""
