# SPDX-License-Identifier: Apache-2.0
"""``python -m nvitop.compat.pynvml_smi [xml] [filter]``: print a query."""

from __future__ import annotations

import sys
from typing import Sequence

from nvitop.api.libnvml import NVMLError
from nvitop.compat.pynvml_smi.smi import nvidia_smi


def main(arguments: Sequence[str] | None = None) -> int:
    """Print everything, or the values of a filter, as text or (after ``xml``) as XML.

    Returns:
        The exit status: 1 if NVML cannot be used or the output cannot be written, 2 for an unknown name.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_xml = bool(words) and words[0].lower() == 'xml'
    wanted = ','.join(words[is_xml:]) or None
    try:
        smi = nvidia_smi.getInstance()
        if is_xml:
            text = smi.XmlDeviceQuery(wanted, strict=True)
        else:
            text = smi.format(smi.DeviceQuery(wanted, strict=True))
    except ValueError as error:
        print(f'nvidia_smi: {error}', file=sys.stderr)
        return 2
    except NVMLError as error:
        print(f'nvidia_smi: {error}', file=sys.stderr)
        return 1
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        print(f'nvidia_smi: cannot write to standard output: {error.strerror}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
