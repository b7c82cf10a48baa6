"""Calls with a token: a look renews a token that is refused and asks once more, a start or stop never does."""

from collections.abc import Callable
from dataclasses import replace

from spoteval.clock import monotonic_s
from spoteval.provider.contract import Reply, Unanswered, unanswered
from spoteval.provider.http import Answer, Api, Request
from spoteval.provider.token import Bearer
from spoteval.shape import Reading, Unreadable

Refusal = Callable[[Answer], Unanswered]
ReplyOf = Callable[[Answer], Reply]
UNAUTHENTICATED = 401


class Caller:
    """One API for one identity. `refusal` reads its errors."""

    def __init__(self, api: Api, bearer: Bearer[str], refusal: Refusal) -> None:
        self._api, self._bearer, self._refusal = api, bearer, refusal

    def look(self, request: Request, deadline_s: float) -> Reading[Answer]:
        """An answer of status 2xx with JSON, or why there is none."""
        until_s = monotonic_s() + deadline_s
        answer = self._sent(request, deadline_s)
        if isinstance(answer, Answer) and answer.status == UNAUTHENTICATED:
            answer = self._sent(request, until_s - monotonic_s())
        if isinstance(answer, Unreadable):
            return answer
        if not answer.ok:
            return self._refusal(answer)
        return (
            unanswered("unknown", answer.body.why)
            if isinstance(answer.body, Unreadable)
            else answer
        )

    def call(self, request: Request, reply_of: ReplyOf, deadline_s: float) -> Reply:
        """Exactly one request, or none where there is no token: that is known, and nothing was begun."""
        token = self._bearer.value(deadline_s)
        if isinstance(token, Unreadable):
            return Reply(ok=False, kind="auth", detail=token.why)
        answer = self._api.ask(replace(request, token=token), deadline_s)
        if isinstance(answer, Unreadable):
            return Reply(ok=False, kind="unknown", detail=answer.why)
        if answer.status == UNAUTHENTICATED:
            self._bearer.refused(token)
        return reply_of(answer)

    def _sent(self, request: Request, deadline_s: float) -> Reading[Answer]:
        token = self._bearer.value(deadline_s)
        if isinstance(token, Unreadable):
            return unanswered("auth", token.why)
        answer = self._api.ask(replace(request, token=token), deadline_s)
        if isinstance(answer, Answer) and answer.status == UNAUTHENTICATED:
            self._bearer.refused(token)
        return answer
