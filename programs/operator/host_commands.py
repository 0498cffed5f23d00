"""``armillary-manage host``: the key of the opaque ids by which users know hosts."""

from argparse import Namespace
from typing import Any

from api.formats.host_ids import KEY_SECONDS
from conductor.super_conductor.db import deployment_secrets
from programs.application import WithOptions
from programs.operator.databases import open_api


class HostRotateIdKey(WithOptions):
    """Replace the key from which hostId of servers is made: every hostId changes.

    API processes take the new key within a minute, without a restart.
    """

    app: Any

    def take_action(self, parsed_args: Namespace) -> None:
        deployment_secrets.replace(open_api(self.app.conf), deployment_secrets.HOST_ID_KEY)
        self.app.stdout.write(
            "The key of hostId is replaced; within "
            f"{KEY_SECONDS:.0f} s all API processes show other ids\n"
        )
