"""Why a server is where it is: explanations, and dry runs of a decision."""
