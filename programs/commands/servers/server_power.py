"""Actions on servers that stop them where they are, rescue them, or correct their records."""

from argparse import ArgumentParser, Namespace
from typing import Any

from programs.commands.arguments import given
from programs.commands.lookup import find_image
from programs.commands.servers.server_action import ServerAction


class PauseServers(ServerAction):
    """Pause servers: stop them where they are; their memory stays."""

    ACTION, DOING, DONE = "pause", "Pausing", "Paused"


class UnpauseServers(ServerAction):
    """Let paused servers continue."""

    ACTION, DOING, DONE = "unpause", "Unpausing", "Unpaused"


class SuspendServers(ServerAction):
    """Suspend servers: stop them where they are, and free their memory if the driver can."""

    ACTION, DOING, DONE = "suspend", "Suspending", "Suspended"


class ResumeServers(ServerAction):
    """Let suspended servers continue."""

    ACTION, DOING, DONE = "resume", "Resuming", "Resumed"


class RescueServers(ServerAction):
    """Run another image, with the servers' data, in place of servers."""

    ACTION, DOING, DONE = "rescue", "Rescuing", "Rescued"

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument("--image", help="image (id or name); by default the server's own")

    def details(self, parsed_args: Namespace) -> Any:
        image = find_image(self.api, parsed_args.image)["id"] if parsed_args.image else None
        return given(rescue_image_ref=image)


class UnrescueServers(ServerAction):
    """End the rescue of servers, and start them as themselves."""

    ACTION, DOING, DONE = "unrescue", "Unrescuing", "Unrescued"


class ResetServers(ServerAction):
    """Set the recorded state of servers, after a repair by hand (administrators)."""

    ACTION, DOING, DONE = "os-resetState", "Resetting", "Reset"

    def add_details(self, parser: ArgumentParser) -> None:
        parser.add_argument("--state", choices=("active", "error"), default="error")

    def details(self, parsed_args: Namespace) -> Any:
        return {"state": parsed_args.state}
