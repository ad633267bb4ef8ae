# SPDX-License-Identifier: Apache-2.0
"""Pure modules that every package may import and that import no other package."""
