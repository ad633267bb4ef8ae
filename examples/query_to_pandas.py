"""Analyze queries with pandas: current memory per user, or averages per GPU from a log.

python examples/query_to_pandas.py
nvitop query --gpu=index,utilization.gpu,power.draw --format=jsonl -l 1 -f gpus.jsonl
python examples/query_to_pandas.py gpus.jsonl
"""

from __future__ import annotations

import json
import sys
from typing import Any, Iterable, Iterator

from nvitop.query import query_processes


def rows_of_log(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the device rows of a log of ``nvitop query --format=jsonl``, with their time."""
    for line in lines:
        result = json.loads(line)
        for device in result['devices']:
            yield {'timestamp': result['timestamp'], **device}


def show_users() -> None:
    """Print the device memory and the number of GPUs of each user."""
    import pandas as pd

    processes = pd.DataFrame(
        query_processes('gpu_index, pid, user, gpu_memory'),
        columns=['gpu_index', 'pid', 'user', 'gpu_memory'],
    )
    users = processes.groupby('user').agg(
        gpus=('gpu_index', 'nunique'), processes=('pid', 'nunique'), memory=('gpu_memory', 'sum')
    )
    users['memory'] = (users['memory'] / 2**30).round(1)
    print(users.sort_values('memory', ascending=False).rename(columns={'memory': 'memory (GiB)'}))


def show_log(path: str) -> None:
    """Print the average of each logged value per GPU."""
    import pandas as pd

    with open(path, encoding='utf-8') as file:
        log = pd.DataFrame(rows_of_log(file))
    log['timestamp'] = pd.to_datetime(log['timestamp'])
    print(f'{log["timestamp"].nunique()} results since {log["timestamp"].min():%H:%M:%S}')
    print(log.groupby('index').mean(numeric_only=True).round(1))


if __name__ == '__main__':
    if sys.argv[1:]:
        show_log(sys.argv[1])
    else:
        show_users()
