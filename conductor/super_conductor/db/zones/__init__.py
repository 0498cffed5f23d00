"""Tables of zones in the API database: child zones, walks of requests, attempts of other zones."""
