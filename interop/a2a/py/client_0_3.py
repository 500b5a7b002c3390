"""The client of a2a-sdk 0.3."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
import httpx
from a2a.client import (
    A2ACardResolver,
    AuthInterceptor,
    ClientCallContext,
    ClientConfig,
    ClientFactory,
    InMemoryContextCredentialStore,
)
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationConfig,
    Role,
    Task,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskStatus,
    TaskStatusUpdateEvent,
    TextPart,
)
from events import KEY, SESSION, Event, Hook

# Over HTTP+JSON and gRPC this client keeps the status of an error and nothing else.
CODES = {
    404: -32001,
    409: -32002,
    grpc.StatusCode.NOT_FOUND: -32001,
    grpc.StatusCode.FAILED_PRECONDITION: -32002,
}


class Agent:
    """An agent behind one binding."""

    @classmethod
    async def connect(cls, url: str, binding: str, key: bool) -> Agent:
        self = cls()
        self.last_status = 0
        http = httpx.AsyncClient(timeout=10, event_hooks={'response': [self.note]})
        self.agent_card = await A2ACardResolver(http, url).get_agent_card()
        interceptors = []
        if key:
            credentials = InMemoryContextCredentialStore()
            for scheme in self.agent_card.security_schemes or {}:
                await credentials.set_credentials(SESSION, scheme, KEY)
            interceptors.append(AuthInterceptor(credentials))
        self.context = ClientCallContext(state={'sessionId': SESSION})

        def client(streaming: bool, hooks: list[PushNotificationConfig] | None = None) -> Any:
            config = ClientConfig(
                httpx_client=http,
                supported_transports=[binding],
                grpc_channel_factory=grpc.aio.insecure_channel,
                streaming=streaming,
                push_notification_configs=hooks or [],
            )
            return ClientFactory(config).create(self.agent_card, interceptors=interceptors)

        self.client, self.sender, self.streamer = client, client(False), client(True)
        return self

    async def note(self, response: httpx.Response) -> None:
        """Keeps the status of the last answer, which the client may hide."""
        self.last_status = response.status_code

    def card(self) -> Any:
        return self.agent_card

    async def send(
        self, text: str, task: str | None = None, wait: bool = True, hook: Hook | None = None
    ) -> Event:
        sender = self.client(False, [config_of(hook)]) if hook else self.sender
        stream = sender.send_message(
            message(text, task),
            configuration=MessageSendConfiguration(blocking=wait),
            context=self.context,
        )
        async for it in stream:
            return event_of(it)
        raise AssertionError('there was no answer')

    async def stream(self, text: str) -> AsyncIterator[Event]:
        async for it in self.streamer.send_message(message(text), context=self.context):
            yield event_of(it)

    async def get(self, id: str) -> Event:
        return task_of(await self.sender.get_task(TaskQueryParams(id=id), context=self.context))

    async def cancel(self, id: str) -> Event:
        return task_of(await self.sender.cancel_task(TaskIdParams(id=id), context=self.context))

    async def subscribe(self, id: str) -> AsyncIterator[Event]:
        async for it in self.streamer.resubscribe(TaskIdParams(id=id), context=self.context):
            yield event_of(it)

    async def notify(self, task: str, hook: Hook) -> str:
        request = TaskPushNotificationConfig(
            task_id=task, push_notification_config=config_of(hook)
        )
        config = await self.sender.set_task_callback(request, context=self.context)
        return config.push_notification_config.url


def code_of(error: Exception) -> int | None:
    """The code of the protocol that an error carries."""
    if isinstance(error, A2AClientJSONRPCError):
        return error.error.code
    if isinstance(error, A2AClientHTTPError):
        return CODES.get(error.status_code)
    if isinstance(error, grpc.aio.AioRpcError):
        return CODES.get(error.code())
    return None


def message(text: str, task: str | None = None) -> Message:
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task,
    )


def config_of(hook: Hook) -> PushNotificationConfig:
    return PushNotificationConfig(url=hook.url, token=hook.token)


def text_of(parts: list[Part]) -> str:
    return ''.join(part.root.text for part in parts)


def status_of(status: TaskStatus) -> dict[str, str]:
    said = text_of(status.message.parts) if status.message else ''
    return {'state': status.state.value, 'said': said}


def task_of(task: Task) -> Event:
    result = '|'.join(text_of(it.parts) for it in task.artifacts or [])
    return Event('task', id=task.id, result=result, **status_of(task.status))


def event_of(it: Any) -> Event:
    """The client answers with a message, or with the task so far and its last update."""
    if isinstance(it, Message):
        return Event('message', said=text_of(it.parts))
    task, update = it
    if update is None:
        return task_of(task)
    if isinstance(update, TaskStatusUpdateEvent):
        return Event('status', final=update.final, **status_of(update.status))
    return Event(
        'artifact',
        result=text_of(update.artifact.parts),
        append=bool(update.append),
        last=bool(update.last_chunk),
    )
