"""RPC between processes: declarations, transports, clients and servers; knows no service.

The only package that imports oslo.messaging. A service declares its interfaces with
``rpc.interface``.
"""
