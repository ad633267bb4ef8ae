# SPDX-License-Identifier: Apache-2.0
"""What is measured now, as plain immutable values."""
