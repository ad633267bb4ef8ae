"""The files in share/ for Grafana and Prometheus, and the expressions in them."""

from __future__ import annotations

import json
import pathlib
import re
import runpy
from typing import Any, Callable

SHARE = pathlib.Path(__file__).parent.parent.parent / 'share'

dashboard: Callable[[], str] = runpy.run_path(str(SHARE.parent / 'tools' / 'make_dashboard.py'))[
    'dashboard'
]


def panels() -> list[dict[str, Any]]:
    """Return all panels, those of collapsed rows too."""
    found = json.loads(dashboard())['panels']
    return [panel for each in found for panel in (each, *each.get('panels', ()))]


def instant(expression: str) -> str:
    """Return PromQL without the variables of Grafana, for all hosts and the last minute."""
    return re.sub(r'\$\w+', '.*', expression.replace('$__range', '1m'))


def expressions() -> dict[str, str]:
    """Return the PromQL of each panel and alert."""
    found = {
        f'{panel["id"]} {panel["title"]} {target["refId"]}': target['expr']
        for panel in panels()
        for target in panel.get('targets', ())
    }
    alerts = (SHARE / 'prometheus' / 'nvitop-alerts.yml').read_text(encoding='utf-8')
    alerts = alerts.replace('>-\n', '')
    found.update(
        re.findall(
            r'- alert: (\w+)\n +expr: (.*?)\n +(?:for|labels|annotations):', alerts, re.DOTALL
        )
    )
    return found
