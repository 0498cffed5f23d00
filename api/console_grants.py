"""Grants of serial consoles: which login opened one, for which server on which host.

The proxy of a console shows the grant again and again, and learns whether it is still valid. It
cannot read the login in it.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from api.access import Access
from api.console.sessions import Seal, Session
from api.console.token_holders import TokenHolders
from armillary import exception
from armillary.context import RequestContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleGrant:
    """A console that was opened: by a token, by a session of the web console, or by neither."""

    instance_uuid: str
    host: str | None
    token: str | None = field(repr=False)
    cookie: str | None = field(repr=False)


class ConsoleGrants:
    """Seals grants with the keys of the console's sessions, and finds out who holds one now.

    ``find_session`` returns the session of a cookie, None if it has ended.
    """

    def __init__(
        self,
        seal: Seal,
        access: Access,
        holders: TokenHolders,
        find_session: Callable[[str], Session | None],
    ) -> None:
        self._seal = seal
        self._access = access
        self._holders = holders
        self._find_session = find_session

    def sealed(self, grant: ConsoleGrant) -> str:
        """Return a grant as text that only the API can read. Raises Unavailable."""
        try:
            return self._seal.close(asdict(grant))
        except OSError as error:
            reason = f"[console] session_key_file cannot be used: {error.strerror}"
            raise exception.Unavailable(reason=reason) from error

    def opened(self, text: str) -> ConsoleGrant:
        """Return what was sealed. Raises Invalid for anything else, also of another API's keys."""
        try:
            found = self._seal.open(text)
        except OSError as error:
            raise exception.Unavailable(reason=str(error.strerror)) from error
        if not isinstance(found, dict) or found.keys() != ConsoleGrant.__dataclass_fields__.keys():
            raise exception.Invalid(reason="this is not a grant of a console by this API")
        return ConsoleGrant(**found)

    def caller_of(self, grant: ConsoleGrant) -> RequestContext | None:
        """Return the caller that the grant's login is now, None if it has ended."""
        token = grant.token
        if grant.cookie is not None:
            session = self._find_session(grant.cookie)
            if session is None:
                return None
            token = session.token
        holder = self._holders.find(token)
        return None if holder is None else holder.context(self._access)
