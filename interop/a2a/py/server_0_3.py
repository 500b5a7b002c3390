"""The server of a2a-sdk 0.3."""

from __future__ import annotations

from typing import Any

import httpx
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.grpc import a2a_pb2_grpc
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    SecurityScheme,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task
from starlette.applications import Starlette
from starlette.routing import Mount

__all__ = ['add_services', 'ask', 'message_of', 'new_task', 'part', 'routes']


def part(text: str) -> Part:
    return Part(root=TextPart(text=text))


def message_of(text: str) -> Message:
    return new_agent_text_message(text)


async def ask(updates: TaskUpdater, message: Message) -> None:
    await updates.requires_input(message, final=True)


def add_services(server: Any, card: AgentCard, handler: Any) -> None:
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), server)


def routes(name: str, description: str, url: str, grpc_address: str, executor: Any) -> Any:
    """The card of an agent, its handler, and its routes below its path."""
    addresses = {'JSONRPC': url, 'HTTP+JSON': url, 'GRPC': grpc_address}
    scheme = SecurityScheme(root=HTTPAuthSecurityScheme(scheme='Bearer'))
    is_locked = name == 'locked'
    card = AgentCard(
        name=name,
        description=description,
        url=url,
        version='1',
        protocol_version='0.3.0',
        preferred_transport='JSONRPC',
        additional_interfaces=[
            AgentInterface(url=at, transport=binding) for binding, at in addresses.items()
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id=name, name=name, description=description, tags=[])],
        security_schemes={'bearer': scheme} if is_locked else None,
        security=[{'bearer': []}] if is_locked else None,
    )
    pushes = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=executor,
        task_store=InMemoryTaskStore(),
        push_config_store=pushes,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), pushes),
    )
    rpc = A2AStarletteApplication(agent_card=card, http_handler=handler)
    rest = A2ARESTFastAPIApplication(agent_card=card, http_handler=handler)
    found = [*Starlette(routes=rpc.routes()).routes, Mount('/', app=rest.build())]
    return card, handler, found
