# SPDX-License-Identifier: Apache-2.0
"""GPU metrics for training frameworks, which are imported on use."""
