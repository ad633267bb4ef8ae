"""Run a script written for pynvml.smi; only its import line has changed.

python examples/from_pynvml_smi.py
"""

from __future__ import annotations

from nvitop.compat.pynvml_smi import nvidia_smi


def main() -> None:
    """Print the free memory and the processes of each GPU."""
    smi = nvidia_smi.getInstance()
    for gpu in smi.DeviceQuery('name, memory.free, memory.total, compute-apps')['gpu']:
        memory = gpu['fb_memory_usage']
        print(f'{gpu["product_name"]}: {memory["free"]} of {memory["total"]} MiB free')
        if isinstance(gpu['processes'], str):  # the error of a lost GPU
            continue
        for process in gpu['processes'] or ():
            print(f'  {process["pid"]} {process["process_name"]} {process["used_memory"]} MiB')


if __name__ == '__main__':
    main()
