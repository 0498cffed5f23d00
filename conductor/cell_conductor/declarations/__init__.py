"""RPC methods of a cell conductor by caller and subject; ``interface`` joins them."""
