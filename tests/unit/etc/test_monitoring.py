"""Dashboard and alert rules name metrics that exist, with labels that they have."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from armillary import service_metrics
from armillary.service_metrics import Counter, Histogram

FOLDER = Path(__file__).parents[3] / "etc" / "monitoring"
KNOWN = {
    f"armillary_{each.name}{'_total' if isinstance(each, Counter) else ''}": {
        *each.labels,
        *(["le"] if isinstance(each, Histogram) else []),
    }
    for each in service_metrics.ALL
}


def expressions() -> list[str]:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert all(rule["alert"] and rule["annotations"]["summary"] for rule in rules)
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in rules)]


def test_each_expression_is_about_known_metrics_and_labels() -> None:
    """A renamed metric would leave a panel empty and an alert silent."""
    for text in expressions():
        names = re.findall(r"armillary_[a-z_]+", text)
        assert names, text
        labels = {label for name in names for label in KNOWN[name.removesuffix("_bucket")]}
        asked = re.findall(r"by \(([^)]*)\)", text) + re.findall(r"\{([a-z_]+)[=!]", text)
        used = {label.strip() for some in asked for label in some.split(",")}
        assert used <= labels, (text, used - labels)


def test_prometheus_loads_the_rules() -> None:
    """As far as its own tool is installed."""
    if tool := shutil.which("promtool"):
        subprocess.run([tool, "check", "rules", str(FOLDER / "alerts.yaml")], check=True)
