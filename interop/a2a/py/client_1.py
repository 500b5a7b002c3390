"""The client of a2a-sdk 1."""

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
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError
from events import KEY, SESSION, Event, Hook

CODES = {TaskNotFoundError: -32001, TaskNotCancelableError: -32002}


class Agent:
    """An agent behind one binding."""

    @classmethod
    async def connect(cls, url: str, binding: str, key: bool, legacy: str = '') -> Agent:
        self = cls()
        self.last_status = 0
        http = httpx.AsyncClient(
            timeout=10, headers={'A2A-Version': '1.0'}, event_hooks={'response': [self.note]}
        )
        self.agent_card = await A2ACardResolver(http, url).get_agent_card()
        if legacy:
            interfaces = list(self.agent_card.supported_interfaces)
            del self.agent_card.supported_interfaces[:]
            self.agent_card.supported_interfaces.extend(
                it for it in interfaces if it.protocol_version == legacy
            )
        interceptors = []
        if key:
            credentials = InMemoryContextCredentialStore()
            for scheme in self.agent_card.security_schemes:
                await credentials.set_credentials(SESSION, scheme, KEY)
            interceptors.append(AuthInterceptor(credentials))

        def client(streaming: bool) -> Any:
            config = ClientConfig(
                httpx_client=http,
                supported_protocol_bindings=[binding],
                grpc_channel_factory=grpc.aio.insecure_channel,
                streaming=streaming,
            )
            return ClientFactory(config).create(self.agent_card, interceptors=interceptors)

        self.sender, self.streamer = client(False), client(True)
        return self

    @property
    def context(self) -> ClientCallContext:
        return ClientCallContext(state={'sessionId': SESSION})

    async def note(self, response: httpx.Response) -> None:
        """Keeps the status of the last answer, which the client may hide."""
        self.last_status = response.status_code

    def card(self) -> Any:
        return self.agent_card

    async def send(
        self, text: str, task: str | None = None, wait: bool = True, hook: Hook | None = None
    ) -> Event:
        request = request_of(text, task, wait)
        if hook:
            request.configuration.task_push_notification_config.CopyFrom(config_of(hook))
        async for it in self.sender.send_message(request, context=self.context):
            return event_of(it)
        raise AssertionError('there was no answer')

    async def stream(self, text: str) -> AsyncIterator[Event]:
        async for it in self.streamer.send_message(request_of(text), context=self.context):
            yield event_of(it)

    async def get(self, id: str) -> Event:
        return task_of(await self.sender.get_task(GetTaskRequest(id=id), context=self.context))

    async def cancel(self, id: str) -> Event:
        request = CancelTaskRequest(id=id)
        return task_of(await self.sender.cancel_task(request, context=self.context))

    async def subscribe(self, id: str) -> AsyncIterator[Event]:
        request = SubscribeToTaskRequest(id=id)
        async for it in self.streamer.subscribe(request, context=self.context):
            yield event_of(it)

    async def notify(self, task: str, hook: Hook) -> str:
        request = config_of(hook, task)
        made = await self.sender.create_task_push_notification_config(
            request, context=self.context
        )
        return made.url


def code_of(error: Exception) -> int | None:
    """The code of the protocol that an error carries."""
    return CODES.get(type(error))


def request_of(text: str, task: str | None = None, wait: bool = True) -> SendMessageRequest:
    message = Message(
        message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], task_id=task
    )
    configuration = SendMessageConfiguration(return_immediately=not wait)
    return SendMessageRequest(message=message, configuration=configuration)


def config_of(hook: Hook, task: str = '') -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(task_id=task, url=hook.url, token=hook.token)


def text_of(parts: Any) -> str:
    return ''.join(part.text for part in parts)


def status_of(status: Any) -> dict[str, str]:
    state = TaskState.Name(status.state).removeprefix('TASK_STATE_').lower().replace('_', '-')
    return {'state': state, 'said': text_of(status.message.parts)}


def task_of(task: Task) -> Event:
    result = '|'.join(text_of(it.parts) for it in task.artifacts)
    return Event('task', id=task.id, result=result, **status_of(task.status))


def event_of(it: Any) -> Event:
    match it.WhichOneof('payload'):
        case 'task':
            return task_of(it.task)
        case 'message':
            return Event('message', said=text_of(it.message.parts))
        case 'status_update':
            return Event('status', **status_of(it.status_update.status))
        case 'artifact_update':
            update = it.artifact_update
            return Event(
                'artifact',
                result=text_of(update.artifact.parts),
                append=update.append,
                last=update.last_chunk,
            )
    raise AssertionError(f'an unknown event: {it}')
