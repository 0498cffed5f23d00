"""``explain``: why a server is on its host, as text or as the API's JSON."""

from __future__ import annotations

import argparse
import json

from programs.commands.base import ApiCommand
from programs.commands.explanation import text_of
from programs.commands.lookup import find_server

TEXT = "text"
JSON = "json"


class Explain(ApiCommand):
    """Explain why a server is on its host, or why it has none.

    Shows how many hosts each rule rejected, the contribution of each weigher, and the outcome of
    each attempt. For a moved server it explains the last move and lists the earlier decisions.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("server", help="id or name")
        parser.add_argument(
            "--request",
            metavar="REQ_ID",
            help="show the decision for this request (default: the last one)",
        )
        parser.add_argument(
            "-f",
            "--format",
            choices=(TEXT, JSON),
            default=TEXT,
            help="text, or everything that the API returns (default: %(default)s)",
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
