"""Completion of command lines in shells: commands, options, and names that the API knows."""

import argparse
import itertools
import operator
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence

from cliff.command import Command

from armillary import exception
from programs.application import WithOptions
from programs.commands.app import ClientApp
from programs.http_client import ApiClient, Document

API_SECONDS = 3.0
NAMES_MAX = 1000

SCRIPTS = {  # bash and zsh complete file names where there is nothing else
    # COMP_WORDS is cut at ":" and "=" too, and of a word with these only the last part is replaced.
    # bash puts what it gets into the line as it is: a name that a user chose would run there.
    "bash": """\
_armillary() {
    local line="${COMP_LINE:0:COMP_POINT}" words word found
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word="${words[${#words[@]}-1]}"
    COMPREPLY=()
    while IFS= read -r found; do
        printf -v found %q "${found#"${word%"${word##*[:=]}"}"}"
        COMPREPLY+=("$found")
    done < <(armillary __complete "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _armillary armillary
""",
    "zsh": """\
#compdef armillary
_armillary() {
    local -a found
    found=(${(f)"$(armillary __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    (( $#found )) && compadd -a found || _files
}
compdef _armillary armillary
""",
    "fish": """\
complete -c armillary -f -a \\
    '(armillary __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
""",
}

_NAME = operator.itemgetter("name")
_LISTS: dict[str, tuple[str, tuple[str, ...], Callable[[Document], str]]] = {
    "server": ("servers", ("servers",), _NAME),
    "flavor": ("flavors", ("flavors",), _NAME),
    "image": ("images", ("images",), _NAME),
    "group": ("server_groups", ("os-server-groups",), _NAME),
    "aggregate": ("aggregates", ("os-aggregates",), _NAME),
    "host": ("hypervisors", ("os-hypervisors", "detail"), lambda node: node["service"]["host"]),
    "zone": (
        "availabilityZoneInfo", ("os-availability-zone",), operator.itemgetter("zoneName"),
    ),
    "child zone": ("zones", ("armillary", "zones"), _NAME),
    "claim": ("claims", ("armillary", "claims"), _NAME),
    "key_name": ("keypairs", ("os-keypairs",), lambda item: item["keypair"]["name"]),
    "pool": ("pools", ("armillary", "pools"), _NAME),
}  # fmt: skip
"""Kind of argument -> list of the API, its path, and the name of an item."""
_KINDS = {
    "service": "host", "availability_zone": "zone", "keypair": "key_name",
    **{kind: kind for kind in _LISTS},
}  # fmt: skip


class Completion(WithOptions):
    """Print the completion script of a shell, for its start file.

    Bash: eval "$(armillary completion bash)"; zsh: the same with zsh; fish: armillary completion
    fish | source.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", choices=sorted(SCRIPTS))

    def take_action(self, parsed_args: Namespace) -> int:
        self.app.stdout.write(SCRIPTS[parsed_args.shell])
        return 0


def main(words: Sequence[str]) -> int:
    """Print what may stand instead of the last word of a command line."""
    for word in complete(words or [""]):
        sys.stdout.write(f"{word}\n")
    return 0


def complete(words: Sequence[str], app: ClientApp | None = None) -> list[str]:
    """Return what may stand instead of the last word."""
    app = app or ClientApp()
    *before, partial = words
    option, equals, value = partial.partition("=")
    if equals and option.startswith("--"):
        return [f"{option}={each}" for each in complete([*before, option, value], app)]
    given = _without_general_options(app, before)
    found = {*_next_words(app, given, partial), *_arguments(app, before, given, partial)}
    return sorted(word for word in found if word.startswith(partial))


def _without_general_options(app: ClientApp, words: Sequence[str]) -> list[str]:
    known = app.parser._option_string_actions
    found, rest = [], iter(words)
    for word in rest:
        if word not in known:
            found.append(word)
        elif known[word].nargs is None:
            next(rest, None)
    return found


def _next_words(app: ClientApp, given: Sequence[str], partial: str) -> Iterator[str]:
    """Yield words that may continue a command, and general options before one."""
    if not given and partial.startswith("-"):
        yield from (word for word in app.parser._option_string_actions if word.startswith("--"))
    for name, _point in app.command_manager:
        parts = name.split()
        if parts[: len(given)] == list(given) and len(parts) > len(given):
            yield parts[len(given)]


def _arguments(
    app: ClientApp, before: Sequence[str], given: Sequence[str], partial: str
) -> Iterator[str]:
    """Yield options of the command, or names for the argument that comes next."""
    parser, rest = _parser_of(app, given)
    if parser is None:
        return
    if partial.startswith("-"):
        yield from (word for word in parser._option_string_actions if word.startswith("--"))
        return
    action = _expected(parser, rest)
    if action is None:
        return
    if action.choices is not None:
        yield from map(str, action.choices)
    kind = _kind_of(action)
    if kind is not None:
        yield from _names(app, before, kind, partial)


def _parser_of(app: ClientApp, given: Sequence[str]) -> tuple[ArgumentParser | None, list[str]]:
    commands = dict(app.command_manager)
    words = list(itertools.takewhile(lambda word: not word.startswith("-"), given))
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count])
        if name in commands:
            command: Command = commands[name].load()(app, None, cmd_name=name)
            return command.get_parser(name), list(given[count:])
    return None, []


def _expected(parser: ArgumentParser, rest: Sequence[str]) -> argparse.Action | None:
    """Return the option that waits for its value, else the next argument."""
    options = parser._option_string_actions
    if rest and rest[-1] in options and options[rest[-1]].nargs != 0:
        return options[rest[-1]]
    count, words = 0, iter(rest)
    for word in words:
        if not word.startswith("-"):
            count += 1
        elif word in options and options[word].nargs != 0:
            next(words, None)
    positional = parser._get_positional_actions()
    if count < len(positional):
        return positional[count]
    return positional[-1] if positional and positional[-1].nargs == "+" else None


def _kind_of(action: argparse.Action) -> str | None:
    if action.dest == "zone" and not action.option_strings:
        return "child zone"  # an option names an availability zone
    for name in (action.metavar, action.dest, action.dest.removesuffix("s")):
        if isinstance(name, str) and name in _KINDS:
            return _KINDS[name]
    return None


def _names(app: ClientApp, before: Sequence[str], kind: str, partial: str) -> list[str]:
    """Return the names of all objects of a kind; none if the API does not answer."""
    options, _rest = app.parser.parse_known_args(list(before))
    app.options = options
    options.http_timeout = API_SECONDS
    key, path, name_of = _LISTS[kind]
    api: ApiClient = app.api
    try:
        items: list[Document] = api.get(*path, query=_query(kind, partial)).get(key, [])
    except exception.ArmillaryError:
        return []
    finally:
        api.close()
    names = [name_of(item) for item in items[:NAMES_MAX]]
    return [text for text in names if text and text.isprintable() and " " not in text]


def _query(kind: str, partial: str) -> dict[str, str] | None:
    return {"name": partial} if kind == "server" and partial else None
