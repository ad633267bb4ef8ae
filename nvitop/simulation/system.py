# SPDX-License-Identifier: Apache-2.0
"""Host and processes of a simulated machine, in place of the operating system."""

from __future__ import annotations

from nvitop.api.system import System
from nvitop.simulation.world import World


class SimulatedSystem(System):
    """The operating system of a simulated machine."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.scenario = world.scenario.name

    def process_file(self, pid: int, name: str) -> bytes | None:
        """Return the content of a file of a process of the scenario.

        The child of a process can neither change its control group nor its mounts.
        """
        task = self._world.task_of(pid)
        if task is None:
            return None
        spec = task.spec
        contents = {
            'cgroup': f'{spec.cgroup}\n',
            'environ': '\0'.join(spec.environ),
            'mountinfo': spec.mountinfo,
            'loginuid': '' if spec.login_uid is None else f'{spec.login_uid}',
            'uid_map': '0 0 4294967295\n',
        }
        return contents[name].encode('utf-8', 'surrogateescape') if name in contents else None

    def container_logs(self) -> list[str]:
        """Return the names of the logs of containers of the scenario."""
        return [task.spec.container_log for task in self._world.tasks if task.spec.container_log]
