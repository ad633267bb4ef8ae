# SPDX-License-Identifier: Apache-2.0
"""Selection of the devices to measure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Tuple, Union

    #: A device: the index of a GPU, (GPU, MIG device), or a UUID.
    DeviceSelector = Union[int, Tuple[int, int], str]


class DeviceSelection:
    """The devices to measure; without selectors all of them.

    Without ``mig_devices``, only MIG devices that are selected themselves are included, not those of
    selected GPUs.
    """

    def __init__(
        self, selectors: Iterable[DeviceSelector] | None = None, *, mig_devices: bool = True
    ) -> None:
        self._selectors = None if selectors is None else frozenset(selectors)
        self.mig_devices = mig_devices

    @property
    def wants_no_mig(self) -> bool:
        """Whether MIG devices need not be looked for."""
        return not self.mig_devices and all(isinstance(s, int) for s in self._selectors or ())

    def wants_gpu(self, index: int, uuid: str) -> bool:
        """Return whether a GPU is selected."""
        return self._selectors is None or index in self._selectors or uuid in self._selectors

    def wants_mig(self, pair: tuple[int, int], uuid: str) -> bool:
        """Return whether a MIG device is selected itself."""
        return self._selectors is not None and (pair in self._selectors or uuid in self._selectors)

    def may_want(self, index: int) -> bool:
        """Return whether the GPU, or a MIG device of it, may be selected, going by its index."""
        if self._selectors is None:
            return True
        return any(
            isinstance(s, str) or s == index or (isinstance(s, tuple) and s[0] == index)
            for s in self._selectors
        )
