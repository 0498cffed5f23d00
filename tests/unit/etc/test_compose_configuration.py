"""The configuration of every service in the compose file loads without a mistake or a warning."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from oslo_config import cfg
from oslo_messaging import conffixture
from sqlalchemy.engine import make_url

from armillary.conf import loader
from armillary.http.open_access import require_authentication_or_loopback
from armillary.identity.token_file import TokenFile
from compute_agent.virt.loader import make_drivers
from programs.operator.broker_commands import definitions
from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import ACCOUNT_SCOPES, CELL, TOP

COMPOSE = Path(__file__).parents[3] / "etc" / "compose"
DEFINITIONS = COMPOSE / "rabbitmq-definitions.json"
IN_CONTAINER = "/etc/armillary/"
SERVICES = {
    name: service["command"]
    for name, service in yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"].items()
    if "--config-file" in service.get("command", [])
}
HOSTS = {"cell1-agent-1": 4, "cell1-agent-2": 5, "cell2-agent-1": 4, "cell2-agent-2": 4}


def load(name: str) -> cfg.ConfigOpts:
    """Load what a service is given, from where the files are in the tree."""
    binary, *arguments = (str(word).replace(IN_CONTAINER, f"{COMPOSE}/") for word in SERVICES[name])
    conf = cfg.ConfigOpts()
    conffixture.ConfFixture(conf)
    loader.load(conf, arguments, binary)
    return conf


@pytest.mark.usefixtures("keep_logging")
@pytest.mark.parametrize("name", SERVICES)
def test_the_configuration_of_a_service_loads(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """With an account that the broker knows, and without a misspelt option."""
    conf = load(name)
    definitions = json.loads(DEFINITIONS.read_text())
    passwords = {user["name"]: user["password"] for user in definitions["users"]}
    granted = {(each["user"], each["vhost"]) for each in definitions["permissions"]}
    for text in filter(None, (conf.transport_url, conf.cell.transport_url)):
        url = make_url(text)
        assert passwords[url.username or ""] == url.password
        assert (url.username, url.database) in granted
    assert "WARNING" not in capfd.readouterr().err


def test_the_broker_grants_what_each_role_needs() -> None:
    """What ``armillary-manage broker permissions`` prints, no more and no less."""
    written = json.loads(DEFINITIONS.read_text())
    pairs = [(each["user"], each["vhost"]) for each in written["permissions"]]
    found = [(vhost, _permissions(account, vhost)) for account, vhost in pairs]
    assert {key: written[key] for key in ("permissions", "topic_permissions")} == definitions(found)


def _permissions(account: str, vhost: str) -> broker_accounts.Permissions:
    role = next((role for role in ACCOUNT_SCOPES if account.startswith(f"{role}-")), account)
    scope = account.removeprefix(f"{role}-") if role in ACCOUNT_SCOPES else None
    return broker_accounts.permissions(role, TOP if vhost == "top" else CELL, scope=scope)


@pytest.mark.usefixtures("keep_logging")
def test_the_api_may_listen_for_everybody_as_tokens_are_asked_for() -> None:
    """The file with the tokens is where the API looks for it."""
    conf = load("api")
    require_authentication_or_loopback(conf, "[api] bind_host", conf.api.bind_host)
    assert conf.api.token_file == f"{IN_CONTAINER}tokens.yaml"


@pytest.mark.parametrize(
    ("token", "roles"),
    [("armillary-try-admin", ("admin",)), ("armillary-try-user", ("member",))],
    ids=["admin", "user"],
)
def test_the_tokens_that_are_written_down_are_let_in(token: str, roles: tuple[str, ...]) -> None:
    """Those of the README; the file holds their hashes alone."""
    path = COMPOSE / "tokens.yaml"
    found = TokenFile(path, lambda: datetime.now(UTC)).find(token)
    assert found is not None
    assert found.identity.roles == roles
    assert token in (COMPOSE / "README.md").read_text()
    assert hashlib.sha256(token.encode()).hexdigest() in path.read_text()


@pytest.mark.usefixtures("keep_logging")
@pytest.mark.parametrize("name", HOSTS)
def test_an_agent_simulates_its_hosts(name: str, tmp_path: Path) -> None:
    """All of them have names of their own in the deployment."""
    conf = load(name)
    conf.set_override("state_path", str(tmp_path))
    hosts = [driver.host for driver in make_drivers(conf)]
    assert len(hosts) == HOSTS[name]
    assert all(host.startswith(name[:5]) for host in hosts)


@pytest.mark.usefixtures("keep_logging")
def test_the_wsgi_service_serves_what_the_program_does() -> None:
    """With the same files, which its environment names, and for those with a token."""
    service = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]["placement-rest"]
    files = service["environment"]["ARMILLARY_CONFIG_FILES"].split(":")
    assert files == [word for word in SERVICES["placement"] if word.endswith(".conf")]
    assert service["command"][-1] == "programs.placement_rest:application"
    assert load("placement").api.auth_strategy == "token_file"
