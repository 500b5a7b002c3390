"""The server of a2a-sdk 1, which serves version 0.3 too."""

from __future__ import annotations

from typing import Any

import httpx
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    Role,
    SecurityRequirement,
    SecurityScheme,
    StringList,
    Task,
)


def part(text: str) -> Part:
    return Part(text=text)


def message_of(text: str) -> Message:
    return new_text_message(text, role=Role.ROLE_AGENT)


def new_task(message: Message) -> Task:
    return new_task_from_user_message(message)


async def ask(updates: TaskUpdater, message: Message) -> None:
    await updates.requires_input(message)


def add_services(server: Any, _: AgentCard, handler: Any) -> None:
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    old = CompatGrpcHandler(handler)
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(old, server)


def routes(name: str, description: str, url: str, grpc_address: str, executor: Any) -> Any:
    """The card of an agent, its handler, and its routes below its path."""
    addresses = {'JSONRPC': url, 'HTTP+JSON': url, 'GRPC': grpc_address}
    card = AgentCard(
        name=name,
        description=description,
        version='1',
        supported_interfaces=[
            AgentInterface(url=at, protocol_binding=binding, protocol_version=version)
            for version in ['1.0', '0.3']
            for binding, at in addresses.items()
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id=name, name=name, description=description, tags=['test'])],
    )
    if name == 'locked':
        scheme = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme='Bearer'))
        card.security_schemes['bearer'].CopyFrom(scheme)
        card.security_requirements.append(SecurityRequirement(schemes={'bearer': StringList()}))
    pushes = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=executor,
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=pushes,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), pushes),
    )
    found = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, '/', enable_v0_3_compat=True),
        *create_rest_routes(handler, enable_v0_3_compat=True),
    ]
    return card, handler, found
