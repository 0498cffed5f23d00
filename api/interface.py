"""RPC interface of the API, which takes no requests over RPC."""

from rpc.interface import Interface


class ApiAPI(Interface):
    """The API, on the top broker; it only receives trust lists, as every server does."""

    TOPIC = "api"
    SERVED_BY = "api"
