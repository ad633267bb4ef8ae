# SPDX-License-Identifier: Apache-2.0
"""Claims: locks on GPUs that every user of a machine sees; ``nvitop run`` and :func:`nvitop.claim`."""
