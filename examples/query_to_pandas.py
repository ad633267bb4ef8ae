"""Queries as tables of pandas: memory of each user now, and each GPU over time from a log.

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
    """The rows of GPUs in a log of ``nvitop query --format=jsonl``, each with its time."""
    for line in lines:
        answer = json.loads(line)
        for device in answer['devices']:
            yield {'timestamp': answer['timestamp'], **device}


def show_users() -> None:
    """Print how much device memory each user has, on how many GPUs."""
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
    """Print the mean of all that was logged of each GPU."""
    import pandas as pd

    with open(path, encoding='utf-8') as file:
        log = pd.DataFrame(rows_of_log(file))
    log['timestamp'] = pd.to_datetime(log['timestamp'])
    print(f'{log["timestamp"].nunique()} answers since {log["timestamp"].min():%H:%M:%S}')
    print(log.groupby('index').mean(numeric_only=True).round(1))


if __name__ == '__main__':
    if sys.argv[1:]:
        show_log(sys.argv[1])
    else:
        show_users()
