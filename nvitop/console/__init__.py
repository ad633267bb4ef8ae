# SPDX-License-Identifier: Apache-2.0
"""Shared parts of all commands: start-up, messages, exit status, arguments and configuration."""
