# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop.compat.pynvml_smi [xml] [filter]``: print a query."""

from __future__ import annotations

import sys
from typing import Sequence

from nvitop.api.libnvml import NVMLError
from nvitop.compat.pynvml_smi.smi import help_text, nvidia_smi
from nvitop.console.lifecycle import CommandFailure, run, write_output


def main(arguments: Sequence[str] | None = None) -> int:
    """Print everything, or the values of a filter, as text or (after ``xml``) as XML."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return run('nvidia_smi', lambda: _print_query(words))


def _print_query(words: list[str]) -> int:
    is_xml = bool(words) and words[0].lower() == 'xml'
    names = ','.join(words[is_xml:]) or None
    try:
        text = help_text(names) or _results(names, is_xml=is_xml)
    except ValueError as error:
        raise CommandFailure(str(error), 2) from error
    except NVMLError as error:
        raise CommandFailure(str(error)) from error
    return write_output(text)


def _results(names: str | None, *, is_xml: bool) -> str:
    smi = nvidia_smi.getInstance()
    if is_xml:
        return smi.XmlDeviceQuery(names, strict=True)
    return smi.format(smi.DeviceQuery(names, strict=True))


if __name__ == '__main__':
    sys.exit(main())
