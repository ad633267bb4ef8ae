# SPDX-License-Identifier: Apache-2.0
"""Faces for scripts that come from other libraries."""
