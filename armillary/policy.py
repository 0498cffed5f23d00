"""Authorization: oslo.policy with our default rules."""

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_policy import policy

from armillary import exception
from armillary.context import RequestContext

LOG = logging.getLogger(__name__)

CACHE_SECONDS = 1.0
"""Seconds for which a decision is cached before the policy file is checked for changes."""
_ANSWERS_MAX = 10_000
_ASKS_A_SERVER = re.compile(r"\bhttps?:").search


class Enforcer:
    """Default rules overridden by the operator's in ``[oslo_policy] policy_file``.

    The file is reloaded when it changes, which takes effect after at most ``CACHE_SECONDS``.
    Raises ``ConfigurationError`` when it is invalid. Thread-safe.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        rules: Iterable[policy.RuleDefault],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._answers: dict[str, bool] = {}
        self._answers_until = 0.0
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.suppress_default_change_warnings = True  # one warning per rule at each start
        self._enforcer.register_defaults(list(rules))
        try:
            self._enforcer.load_rules()
            self._enforcer.check_rules(raise_on_violation=True)
        except (policy.InvalidDefinitionError, ValueError, OSError) as error:
            reason = " ".join(str(error).split())
            raise exception.ConfigurationError(
                f"The policy file {conf.oslo_policy.policy_file} cannot be used: {reason}"
            ) from error

    def names_in_file(self) -> set[str]:
        """Return the names of the rules in the operator's file."""
        return set(self._enforcer.file_rules)

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> None:
        """Raise ``PolicyNotAuthorized`` unless the rule allows the action to ``context``.

        ``target`` describes the object of the request, such as ``{"project_id": ...}``.
        """
        if not self.is_allowed(rule, target, context):
            raise exception.PolicyNotAuthorized(rule=rule)

    def is_allowed(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> bool:
        """Return whether the rule allows the action, for callers that omit what is not allowed."""
        credentials = dict(context.to_policy_values())
        question = json.dumps([rule, target, credentials], sort_keys=True, default=str)
        answers = self._fresh_answers()
        answer = answers.get(question)
        if answer is None:
            answer = answers[question] = self._answer(rule, target, context)
        return answer

    def list_allowed(
        self, rules: Iterable[str], target: Mapping[str, Any], context: RequestContext
    ) -> dict[str, bool]:
        """Return rule -> whether it allows the action; equal rules are evaluated once."""
        wordings = self._wordings()
        answers: dict[str, bool] = {}
        allowed = {}
        for rule in rules:
            wording = wordings.get(rule, rule)
            if wording not in answers:
                answers[wording] = self.is_allowed(rule, target, context)
            allowed[rule] = answers[wording]
        return allowed

    def _wordings(self) -> dict[str, str]:
        """Return the wording of each rule; none where a rule asks a server, which sees its name."""
        try:
            self._enforcer.load_rules()
        except (ValueError, OSError) as error:
            _log_invalid(error)
        wordings = {name: str(check) for name, check in list(self._enforcer.rules.items())}
        asks = any(_ASKS_A_SERVER(wording) for wording in wordings.values())
        return {} if asks else wordings

    def _fresh_answers(self) -> dict[str, bool]:
        now = self._clock()
        if now >= self._answers_until or len(self._answers) >= _ANSWERS_MAX:
            self._answers, self._answers_until = {}, now + CACHE_SECONDS
        return self._answers

    def _answer(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> bool:
        try:
            return self._ask(rule, target, context)
        except (ValueError, OSError) as error:
            _log_invalid(error)
        return self._ask(rule, target, context)  # oslo.policy reads each change only once

    def _ask(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> bool:
        return bool(self._enforcer.authorize(rule, dict(target), context))


def _log_invalid(error: Exception) -> None:
    LOG.error(
        "The changed policy file is invalid; the previous rules stay in force: %s",
        " ".join(str(error).split()),
    )
