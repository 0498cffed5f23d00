"""RPC methods of the super conductor by subject; ``interface`` joins them."""
