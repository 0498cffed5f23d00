"""A report says everything but secrets."""

import pytest

from armillary.service import report
from armillary.version import VersionInfo


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the report meet a password where oslo.reports does not expect one."""

    def section() -> str:
        return "url: amqp://u:geheim@h, 'admin_password': 'geheim'"

    monkeypatch.setattr(report.Report, "persistent_sections", [("Ours", section)], raising=False)


def test_passwords_are_masked_wherever_they_stand(secret: None) -> None:
    """In URLs and by name."""
    text = report.Report(VersionInfo()).run()
    assert "Guru Meditation" in text
    assert "amqp://u:***@h" in text
    assert "geheim" not in text
