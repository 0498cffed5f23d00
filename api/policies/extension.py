"""Extensions: who may list them."""

from api.policies.base import ANYBODY, rule

LIST = "os_compute_api:extensions"

RULES = [rule(LIST, ANYBODY, "List the parts of the API.")]
