"""Dashboard and alert rules name metrics that exist, with labels that they have."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from armillary.metrics import service_metrics
from armillary.metrics.service_metrics import Counter, Histogram

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


@pytest.mark.skipif(
    os.environ.get("CI") != "true" and shutil.which("promtool") is None,
    reason="promtool, of the package prometheus, is not installed",
)
def test_prometheus_loads_the_rules(tmp_path: Path) -> None:
    """By its own tool, which parses the dashboard's expressions as well."""
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    records = [{"record": f"panel:{n}", "expr": each} for n, each in enumerate(shown)]
    as_rules = tmp_path / "dashboard.yaml"
    as_rules.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))
    for rules in (FOLDER / "alerts.yaml", as_rules):
        subprocess.run(["promtool", "check", "rules", str(rules)], check=True)
