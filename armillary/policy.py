"""May this caller do this? oslo.policy with our rules, asked by name."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_policy import policy

from armillary import exception
from armillary.context import RequestContext

LOG = logging.getLogger(__name__)

REMEMBER_SECONDS = 1.0
"""So long is an answer given again without looking whether the policy file changed."""
_ANSWERS_MAX = 10_000


class Enforcer:
    """Our rules with the operator's changes in ``[oslo_policy] policy_file`` on top.

    The file is read again when it changed; that shows after ``REMEMBER_SECONDS`` at most. Raises
    ``ConfigurationError`` when it cannot be read as one. Thread-safe.
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
        self._enforcer.suppress_default_change_warnings = True  # one a rule, at each start
        self._enforcer.register_defaults(list(rules))
        try:
            self._enforcer.load_rules()
            self._enforcer.check_rules(raise_on_violation=True)
        except (policy.InvalidDefinitionError, ValueError, OSError) as error:
            reason = " ".join(str(error).split())
            raise exception.ConfigurationError(
                f"The policy file {conf.oslo_policy.policy_file} cannot be used: {reason}"
            ) from error

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> None:
        """Return when the rule allows it to ``context``, else raise ``PolicyNotAuthorized``.

        ``target`` is what it is to be done to, such as ``{"project_id": ...}``.
        """
        if not self.is_allowed(rule, target, context):
            raise exception.PolicyNotAuthorized(rule=rule)

    def is_allowed(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> bool:
        """Answer the same question, for callers that only leave something out."""
        credentials = dict(context.to_policy_values())
        question = json.dumps([rule, target, credentials], sort_keys=True, default=str)
        answers = self._fresh_answers()
        answer = answers.get(question)
        if answer is None:
            answer = answers[question] = self._answer(rule, target, context)
        return answer

    def _fresh_answers(self) -> dict[str, bool]:
        now = self._clock()
        if now >= self._answers_until or len(self._answers) >= _ANSWERS_MAX:
            self._answers, self._answers_until = {}, now + REMEMBER_SECONDS
        return self._answers

    def _answer(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> bool:
        try:
            return self._ask(rule, target, context)
        except (ValueError, OSError) as error:
            reason = " ".join(str(error).split())
        LOG.error("The policy file was changed and is broken, the old rules stay: %s", reason)
        return self._ask(rule, target, context)  # oslo.policy reads each change once

    def _ask(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> bool:
        return bool(self._enforcer.authorize(rule, dict(target), context))
