"""Approvals: commands, and connections of running commands, that wait for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from ._connection import Connection
from ._errors import NotFoundError
from ._event import Opened, StateChanged
from ._events import Events
from ._methods import DECIDE, LIST_APPROVALS
from ._result import Approval
from .v1 import approval_pb2 as pb

_PENDING = "pending_approval"
_POLL = 0.5
_ALL = (
    pb.APPROVAL_STATE_OPEN,
    pb.APPROVAL_STATE_ALLOWED,
    pb.APPROVAL_STATE_DENIED,
    pb.APPROVAL_STATE_EXPIRED,
    pb.APPROVAL_STATE_WITHDRAWN,
)
_SCOPES = {"session": pb.RULE_SCOPE_SESSION, "tenant": pb.RULE_SCOPE_TENANT}


class AsyncApprovals:
    """The approvals of the caller's tenant. To answer one, the caller needs the role `approver`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, session_id: str = "", *, all_states: bool = False) -> list[Approval]:
        """Return the open approvals, or with `all_states` also the answered ones, oldest first."""
        request = pb.ApprovalServiceListRequest()
        request.filter.session_id = session_id
        if all_states:
            request.filter.states.extend(_ALL)
        found: list[Approval] = []
        while True:
            answer = await self._connection.unary(LIST_APPROVALS, request)
            found.extend(Approval.of(one) for one in answer.approvals)
            if not answer.next_page_token:
                return found
            request.page.page_token = answer.next_page_token

    async def show(self, approval_id: str) -> Approval:
        """Return one approval. Raise `NotFoundError` if there is none with this ID."""
        for approval in await self.list(all_states=True):
            if approval.id == approval_id:
                return approval
        raise NotFoundError(f"there is no approval `{approval_id}`", code="NOT_FOUND", reason="NOT_FOUND")

    async def allow(
        self,
        approval: Approval,
        *,
        remember: Literal["session", "tenant"] | None = None,
        rules: Sequence[str] = (),
    ) -> Approval:
        """Allow the command as it was shown. `remember` also adds rules, by default the suggested ones."""
        request = pb.ApprovalServiceDecideRequest(approval_id=approval.id, binding=approval.binding)
        if remember is None:
            request.allow_once.SetInParent()
        else:
            request.allow_and_remember.scope = _SCOPES[remember]
            request.allow_and_remember.rules.extend(rules)
        return Approval.of((await self._connection.unary(DECIDE, request)).approval)

    async def deny(self, approval: Approval, reason: str = "") -> Approval:
        """Deny the command. The agent sees the reason."""
        request = pb.ApprovalServiceDecideRequest(approval_id=approval.id, binding=approval.binding)
        request.deny.reason = reason
        return Approval.of((await self._connection.unary(DECIDE, request)).approval)

    async def wait(self, approval: Approval) -> Approval:
        """Wait until the approval is no longer open, and return it."""
        if approval.connection:
            return await self._wait_for_connection(approval)
        events = Events(self._connection, execution_id=approval.execution_id)
        try:
            async for event in events:
                match event:
                    case Opened(execution=now):
                        waits = now.state == _PENDING and now.approval_id == approval.id
                    case StateChanged(state=state, approval_id=asked):
                        # The history begins with the states before the question.
                        waits = state == _PENDING and asked == approval.id
                    case _:
                        continue
                if not waits:
                    now_it_is = await self.show(approval.id)
                    if now_it_is.state != "open":
                        return now_it_is
        finally:
            await events.aclose()
        return await self.show(approval.id)

    async def _wait_for_connection(self, approval: Approval) -> Approval:
        # The command runs on, so that no event follows the answer.
        while True:
            now = await self.show(approval.id)
            if now.state != "open":
                return now
            await asyncio.sleep(_POLL)
