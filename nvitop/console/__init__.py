# SPDX-License-Identifier: Apache-2.0
"""What all commands share: start-up, arguments, options and the configuration file."""
