"""``explain``: why a server is where it is, in words or as the API says it."""

from __future__ import annotations

import argparse
import json

from armillary.cli.commands.base import ApiCommand
from armillary.cli.commands.explanation import text_of
from armillary.cli.commands.find import find_server

TEXT = "text"
JSON = "json"


class Explain(ApiCommand):
    """Say why a server is where it is, or why it is nowhere.

    How many hosts were ruled out by what, each weigher's share, and what became of each attempt; of
    a server that was moved for its last move, with a list of the decisions before.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("server", help="id or name")
        parser.add_argument(
            "--request",
            metavar="REQ_ID",
            help="the decision made for this request; the last one when not given",
        )
        parser.add_argument(
            "-f",
            "--format",
            choices=(TEXT, JSON),
            default=TEXT,
            help="words for people, or all the API says (default: %(default)s)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        query = {"request_id": parsed_args.request} if parsed_args.request else None
        answer = self.api.get("armillary", "servers", server, "explain", query=query)
        explanation = answer["explanation"]
        if parsed_args.format == JSON:
            self.application.stdout.write(f"{json.dumps(explanation, indent=2)}\n")
        else:
            self.application.stdout.write(text_of(explanation))
        return 0
