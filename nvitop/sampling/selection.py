# SPDX-License-Identifier: Apache-2.0
"""Which devices are measured."""

from __future__ import annotations

from typing import Iterable, Tuple, Union

#: What may be asked for: the index of a GPU, (GPU, MIG device), or a UUID.
DeviceSelector = Union[int, Tuple[int, int], str]


class DeviceSelection:
    """Which devices are wanted; without wishes: all.

    Without ``mig_devices`` only those MIG devices that are wished for, and not those of every GPU.
    """

    def __init__(
        self, wishes: Iterable[DeviceSelector] | None = None, *, mig_devices: bool = True
    ) -> None:
        self._wishes = None if wishes is None else frozenset(wishes)
        self.mig_devices = mig_devices

    @property
    def wants_no_mig(self) -> bool:
        """Whether there is no need to look for MIG devices."""
        return not self.mig_devices and all(isinstance(wish, int) for wish in self._wishes or ())

    def wants_gpu(self, index: int, uuid: str) -> bool:
        """Whether a GPU is wanted, with all its MIG devices."""
        return self._wishes is None or index in self._wishes or uuid in self._wishes

    def wants_mig(self, pair: tuple[int, int], uuid: str) -> bool:
        """Whether a MIG device is wanted for its own sake."""
        return self._wishes is not None and (pair in self._wishes or uuid in self._wishes)

    def may_want(self, index: int) -> bool:
        """Whether anything on the GPU of this index can be wanted, as far as its index tells."""
        if self._wishes is None:
            return True
        return any(
            isinstance(wish, str) or wish == index or (isinstance(wish, tuple) and wish[0] == index)
            for wish in self._wishes
        )
