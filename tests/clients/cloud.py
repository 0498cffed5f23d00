"""A deployment as OpenStack's clients see it, and the clients that are installed here."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

INSTALLED = Path(os.environ.get("ARMILLARY_CLIENTS", ".venv")).absolute()
"""Directory with an environment for each release of the clients."""
NEWEST, OLDER = "clients", "clients-6.6"
"""Environments: openstackclient 10.5 with osc-placement; openstackclient 6.6 with novaclient."""


def needs(environment: str) -> pytest.MarkDecorator:
    """Return the mark that leaves tests out where an environment is missing."""
    return pytest.mark.skipif(
        not (INSTALLED / environment / "bin" / "openstack").exists()
        and os.environ.get("CI") != "true",
        reason="no OpenStack clients; see `make clients`",
    )


class Cloud:
    """Runs the clients of an environment with the ``clouds.yaml`` that ``armillary up`` wrote."""

    def __init__(self, clouds: Path, environment: str) -> None:
        self._programs = INSTALLED / environment / "bin"
        self._environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(clouds)}
        self._auth = yaml.safe_load(clouds.read_text())["clouds"]["armillary"]["auth"]

    def run(self, *words: str) -> str:
        """Return the output of ``openstack``. Fails with the client's message."""
        return self._output("openstack", "--os-cloud", "armillary", *words)

    def nova(self, *words: str) -> str:
        """Return the output of ``nova``, which reads no ``clouds.yaml``."""
        return self._output("nova", *words, **self._variables())

    def refusal(self, *words: str) -> str:
        """Return what ``nova`` says about a request that is refused."""
        ended = self._run("nova", words, self._variables())
        assert ended.returncode != 0
        return ended.stderr

    def python(self, code: str) -> str:
        """Return what code prints that uses the SDK."""
        return self._output("python", "-c", f"import openstack;{code}")

    def program(self, path: Path, *words: str) -> str:
        """Return the output of a Python program."""
        return self._output("python", str(path), *words)

    def show(self, *words: str) -> Any:
        """Return the output of ``openstack`` as what its JSON says."""
        return json.loads(self.run(*words, "-f", "json"))

    def names(self, *words: str) -> set[str]:
        return {row["Name"] for row in self.show(*words)}

    def _variables(self) -> dict[str, str]:
        auth = self._auth
        return {
            "OS_AUTH_URL": auth["auth_url"],
            "OS_USERNAME": auth["username"],
            "OS_PASSWORD": auth["password"],
            "OS_PROJECT_NAME": auth["project_name"],
            "OS_USER_DOMAIN_NAME": auth["user_domain_name"],
            "OS_PROJECT_DOMAIN_NAME": auth["project_domain_name"],
        }

    def _output(self, program: str, *words: str, **variables: str) -> str:
        ended = self._run(program, words, variables)
        assert ended.returncode == 0, f"{program} {' '.join(words)}: {ended.stderr[-2000:]}"
        return ended.stdout

    def _run(
        self, program: str, words: tuple[str, ...], variables: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._programs / program), *words],
            env={**self._environment, **variables}, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
