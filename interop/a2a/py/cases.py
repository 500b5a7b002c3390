"""The official Python client, of the version that is installed, against the agents of ../app.

Prints one line of JSON for every case.

    python cases.py RECEIVER SCRIPT REPLY LOCKED [0.3]

The addresses are those of the receiver of notifications and of the agents. With `0.3` the client connects as to a server that has version 0.3 only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from typing import Any

import grpc
import httpx
from events import Event, Hook

VERSION = version('a2a-sdk')
if VERSION.startswith('0.'):
    from client_0_3 import Agent, code_of
else:
    from client_1 import Agent, code_of

RECEIVER, SCRIPT, REPLY, LOCKED, *LEGACY = sys.argv[1:]
URLS = {'script': SCRIPT, 'reply': REPLY, 'locked': LOCKED}
CLIENT = ' as '.join([f'py {VERSION}', *LEGACY])
BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC']
TASK_NOT_FOUND = -32001
TASK_NOT_CANCELABLE = -32002

LIMIT = 10
"""The seconds that a case may take."""

Connect = Callable[..., Awaitable[Agent]]
CASES: dict[str, Callable[[Connect], Awaitable[None]]] = {}


def case(name: str) -> Callable[[Any], None]:
    """Lists a case under its name."""

    def add(run: Any) -> None:
        CASES[name] = run

    return add


def same(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f'expected {expected!r}, got {actual!r}')


async def all_of(stream: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in stream]


async def failure(call: Awaitable[Any]) -> Exception:
    try:
        value = await call
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError(f'the call did not fail, it answered {value!r}')


async def refused(call: Awaitable[Any], code: int) -> None:
    error = await failure(call)
    if code_of(error) != code:
        raise AssertionError(f'expected {code}: {error!r}')


async def held(agent: Agent) -> str:
    """A task that works until it is released or canceled. The stream that began it is left."""
    stream = agent.stream('hold')
    task = await anext(stream)
    await stream.aclose()
    same(task.kind, 'task')
    is_running(task)
    return task.id


def status_of_grpc(error: BaseException | None) -> int | None:
    """The HTTP status that means the same as that of a gRPC call, if one is behind the error."""
    while error:
        if isinstance(error, grpc.aio.AioRpcError):
            return 401 if error.code() == grpc.StatusCode.UNAUTHENTICATED else 500
        error = error.__cause__ or error.__context__
    return None


def webhook() -> Hook:
    """A new webhook of the receiver."""
    return Hook(f'{RECEIVER}/{uuid.uuid4()}')


async def received(hook: Hook, expected: dict[str, list[str]]) -> None:
    """Compares the notifications of a webhook, from the first to the end of the task: kind, state
    and text. In 0.3 each of them is the whole task."""
    is0 = VERSION.startswith('0.') or bool(LEGACY)
    version = '0.3' if is0 else '1.0'
    form = (version, 'application/json' if is0 else 'application/a2a+json', hook.token)
    async with httpx.AsyncClient(timeout=LIMIT) as http:
        received = (await http.get(hook.url)).json()
    for it in received:
        same((it['version'], it['type'], it['token']), form)
    told = [f'{it["kind"]} {it["state"]} {it["text"]}'.rstrip() for it in received]
    # A webhook that is registered later may miss this one.
    missed = ('task working', 'status working')
    same([it for it in told if it not in missed], expected[version])


def is_running(task: Event) -> None:
    if task.state not in ('submitted', 'working'):
        raise AssertionError(f'the task is {task.state}')


@case('card')
async def _(connect: Connect) -> None:
    card = (await connect('script')).card()
    same(card.name, 'Script')
    same(card.description, 'Does what a message says.')
    same(card.capabilities.streaming, True)
    same(len(card.skills), 1)


@case('send')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    task = await agent.send('hello')
    same((task.state, task.result), ('completed', 'hello'))
    same(await agent.get(task.id), task)


@case('send without waiting')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    task = await agent.send('hold', wait=False)
    is_running(task)
    await agent.cancel(task.id)


@case('stream')
async def _(connect: Connect) -> None:
    first, *rest = await all_of((await connect('script')).stream('chunks'))
    same(first.kind, 'task')
    end = rest.pop()
    same((end.kind, end.state, end.final), ('status', 'completed', True))
    chunks = [(it.result, it.append, it.last) for it in rest if it.kind == 'artifact']
    same(chunks, [('one ', False, False), ('two ', True, False), ('three', True, True)])


@case('message')
async def _(connect: Connect) -> None:
    agent = await connect('reply')
    same(await agent.send('hello'), Event('message', said='re: hello'))
    same(await all_of(agent.stream('you')), [Event('message', said='re: you')])


@case('ask and answer')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    asked = await agent.send('ask')
    same((asked.state, asked.said), ('input-required', 'which city?'))
    answered = await agent.send('Paris', task=asked.id)
    same(answered.id, asked.id)
    same((answered.state, answered.result), ('completed', 'answer: Paris'))


@case('ask in a stream')
async def _(connect: Connect) -> None:
    end = (await all_of((await connect('script')).stream('ask')))[-1]
    same((end.kind, end.state), ('status', 'input-required'))
    same((end.said, end.final), ('which city?', True))


@case('fail')
async def _(connect: Connect) -> None:
    task = await (await connect('script')).send('fail')
    same((task.state, task.said), ('failed', 'no such city'))


@case('cancel')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    task = await held(agent)
    same((await agent.cancel(task)).state, 'canceled')
    same((await agent.get(task)).state, 'canceled')


@case('resubscribe')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    task = await held(agent)
    stream = agent.subscribe(task)
    first = await anext(stream)
    same((first.kind, first.id), ('task', task))
    await agent.send(f'release {task}')
    events = [event for event in await all_of(stream) if event.state != 'working']
    same([event.kind for event in events], ['artifact', 'status'])
    same(events[-1].state, 'completed')
    same((await agent.get(task)).result, 'released')


@case('push')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    hook = webhook()
    await agent.send('chunks', hook=hook)
    chunks = ['artifact  one', 'artifact  two', 'artifact  three']
    whole = 'one two three'
    told = {
        '0.3': ['task submitted', f'task submitted {whole}', f'task completed {whole}'],
        '1.0': ['task submitted', *chunks, 'status completed'],
    }
    await received(hook, told)


@case('push for a running task')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    task = await held(agent)
    hook = webhook()
    same(await agent.notify(task, hook), hook.url)
    await agent.send(f'release {task}')
    told = {
        '0.3': ['task working released', 'task completed released'],
        '1.0': ['artifact  released', 'status completed'],
    }
    await received(hook, told)


@case('unknown task')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    await refused(agent.get('nobody'), TASK_NOT_FOUND)
    await refused(agent.cancel('nobody'), TASK_NOT_FOUND)
    await refused(agent.send('hello', task='nobody'), TASK_NOT_FOUND)


@case('unknown task in a stream')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    await refused(all_of(agent.subscribe('nobody')), TASK_NOT_FOUND)


@case('cancel too late')
async def _(connect: Connect) -> None:
    agent = await connect('script')
    task = await agent.send('hello')
    await refused(agent.cancel(task.id), TASK_NOT_CANCELABLE)


@case('auth refused')
async def _(connect: Connect) -> None:
    agent = await connect('locked')
    # The card can be read without a key.
    same(agent.card().name, 'locked')
    for call in [agent.send('hello'), all_of(agent.stream('hello'))]:
        agent.last_status = 0
        error = await failure(call)
        same(status_of_grpc(error) or agent.last_status, 401)


@case('auth accepted')
async def _(connect: Connect) -> None:
    agent = await connect('locked', key=True)
    same((await agent.send('hello')).result, 'hello')
    same((await all_of(agent.stream('chunks')))[-1].state, 'completed')


async def outcome(name: str, binding: str) -> dict[str, Any]:
    async def connect(agent: str, key: bool = False) -> Agent:
        return await Agent.connect(URLS[agent], binding, key, *LEGACY)

    try:
        await asyncio.wait_for(CASES[name](connect), LIMIT)
    except Exception as error:  # noqa: BLE001
        return {'ok': False, 'why': str(error) or repr(error)}
    return {'ok': True}


async def main() -> None:
    for binding in BINDINGS:
        for name in CASES:
            line = {'peer': CLIENT, 'binding': binding, 'case': name}
            print(json.dumps(line | await outcome(name, binding)), flush=True)


logging.disable(logging.CRITICAL)
asyncio.run(main())
