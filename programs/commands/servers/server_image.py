"""Snapshots: images made of servers."""

from argparse import ArgumentParser, Namespace

from armillary import exception
from programs.access.errors import ApiNotFound
from programs.commands import arguments, base, wait
from programs.commands.images.image import IMAGE
from programs.commands.lookup import find_server
from programs.http_client import Document

SAVING, ACTIVE = "SAVING", "ACTIVE"


class SnapshotFailed(exception.ArmillaryError):
    """The host could not store the image."""

    template = (
        "No image was made of server %(server)s. To see why: armillary server events %(server)s"
    )


class CreateServerImage(base.ApiShow):
    """Create an image of a server (a snapshot), from which other servers can be built."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        parser.add_argument("--name", help="name of the image (default: that of the server)")
        arguments.add_pairs(parser, "--property", "properties", "property of the image")
        arguments.add_wait(parser)

    def take_action(self, parsed_args: Namespace) -> base.Record:
        server = find_server(self.api, parsed_args.server)
        wanted = {
            "name": parsed_args.name or server["name"] or server["id"],
            "metadata": dict(parsed_args.properties),
        }
        answer = self.api.post("servers", server["id"], "action", body={"createImage": wanted})
        image_id = answer["image_id"]
        if parsed_args.wait:
            self._wait(server["id"], image_id, wait.Pace(parsed_args.timeout))
        return base.record(IMAGE.fields, self._image(server["id"], image_id))

    def _wait(self, server: str, image_id: str, pace: wait.Pace) -> None:
        """Return when the image is stored. Raises ``WaitTimeout``, ``SnapshotFailed``."""
        with self.progress("Storing the image", 1) as show:
            while (status := self._image(server, image_id)["status"]) == SAVING:
                show(0, {status: 1})
                if not pace.pause():
                    raise wait.WaitTimeout(
                        waiting=1, total=1, wanted="stored", reason="",
                        timeout_seconds=pace.timeout_seconds,
                    )  # fmt: skip
            show(1, {status: 1})
        if status != ACTIVE:
            raise SnapshotFailed(server=server)

    def _image(self, server: str, image_id: str) -> Document:
        """Return the image, which is removed if the host cannot store it."""
        try:
            image: Document = self.api.get("images", image_id)["image"]
        except ApiNotFound as error:
            raise SnapshotFailed(server=server) from error
        return image
