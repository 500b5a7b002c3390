"""The agents of ../app on the official Python server, of the version that is installed, for
oxikit's client to call.

    python server.py

Listens on 127.0.0.1 and a free port, and prints where.
"""

from __future__ import annotations

import asyncio
import socket
from importlib.metadata import version
from typing import Any

import grpc
import uvicorn
from agents import Reply, Script
from events import KEY
from starlette.applications import Starlette
from starlette.responses import JSONResponse

if version('a2a-sdk').startswith('0.'):
    from server_0_3 import add_services, routes
else:
    from server_1 import add_services, routes

CARD = '/.well-known/agent-card.json'


class Keyed(grpc.aio.ServerInterceptor):
    """Lets calls with the key pass."""

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = await continuation(details)
        if dict(details.invocation_metadata).get('authorization') == f'Bearer {KEY}':
            return handler

        async def refuse(_: Any, context: Any) -> None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, 'a key is needed')

        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(
                refuse, handler.request_deserializer, handler.response_serializer
            )
        return grpc.unary_unary_rpc_method_handler(
            refuse, handler.request_deserializer, handler.response_serializer
        )


class Agents:
    """Hands a request to its agent. The routers of the server would redirect the address of an
    agent to the one with a slash."""

    def __init__(self, base: str) -> None:
        self.grpc: list[Any] = []
        text = 'Does what a message says.'
        self.apps = {
            'script': self.app('Script', text, f'{base}/a2a/script', Script()),
            'reply': self.app('reply', 'Answers without a task.', f'{base}/a2a/reply', Reply()),
            'locked': self.app('locked', text, f'{base}/a2a/locked', Script()),
        }

    def app(self, name: str, description: str, url: str, executor: Any) -> Starlette:
        # gRPC has no path by which agents could share a port.
        server = grpc.aio.server(interceptors=[Keyed()] if name == 'locked' else [])
        address = f'127.0.0.1:{server.add_insecure_port("127.0.0.1:0")}'
        card, handler, found = routes(name, description, url, address, executor)
        add_services(server, card, handler)
        self.grpc.append(server)
        return Starlette(routes=found)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope['type'] != 'http':
            return
        _, _, agent, *rest = scope['path'].split('/')
        path = '/' + '/'.join(rest)
        scope = {**scope, 'path': path, 'raw_path': path.encode()}
        target = self.apps[agent]
        key = dict(scope['headers']).get(b'authorization')
        if agent == 'locked' and path != CARD and key != f'Bearer {KEY}'.encode():
            headers = {'WWW-Authenticate': 'Bearer'}
            target = JSONResponse({'error': 'a key is needed'}, 401, headers)
        await target(scope, receive, send)


async def main() -> None:
    listener = socket.create_server(('127.0.0.1', 0))
    base = f'http://127.0.0.1:{listener.getsockname()[1]}'
    agents = Agents(base)
    for server in agents.grpc:
        await server.start()
    config = uvicorn.Config(agents, lifespan='off', log_level='warning')
    # Connections wait in the socket until the server takes them.
    print(f'listening on {base}', flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


asyncio.run(main())
