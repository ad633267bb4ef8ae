# SPDX-License-Identifier: Apache-2.0
"""``ttl_cache``: a :func:`functools.lru_cache` with results that expire after ``ttl`` seconds.

It is that of cachetools. A decorated method keeps its objects alive until their results expire.

>>> @ttl_cache(ttl=5.0)
... def slow_square(x):
...     return x * x
>>> slow_square(4), slow_square(4), slow_square.cache_info().hits
(16, 16, 1)
"""

from __future__ import annotations

from cachetools.func import ttl_cache

__all__ = ['ttl_cache']
