# SPDX-License-Identifier: Apache-2.0
"""Another machine over OpenSSH: ``nvitop --ssh HOST``."""
