"""The official Python client of agents (`genkit.exp.remote_agent`) against the agents
of ../app.

Prints `ok name` or `FAILED name: why` for every case.

    python cases.py http://127.0.0.1:PORT
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from genkit import GenkitError, Part
from genkit.exp import AgentError, AgentInput, remote_agent
from pydantic import BaseModel

BASE = sys.argv[1]

CASES: dict[str, Callable[[], Awaitable[None]]] = {}


def case(name: str) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Lists a case under its name."""

    def add(run: Callable[[], Awaitable[None]]) -> None:
        CASES[name] = run

    return add


def agent(name: str, state_management: str = 'server', **options: Any) -> Any:
    return remote_agent(f'{BASE}/{name}', state_management=state_management, **options)


STORE = agent('agentStore')
CLIENT = agent('agentClient', 'client')
CUSTOM = agent('customAgent')


def same(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f'expected {expected!r}, got {actual!r}')


def contains(text: str, part: str) -> None:
    if part not in text:
        raise AssertionError(f'expected {part!r} in {text!r}')


async def failure(call: Awaitable[Any]) -> Any:
    """The error that a turn ends with."""
    try:
        value = await call
    except AgentError as error:
        return error
    raise AssertionError(f'it answered {value!r}')


async def read(turn: Any) -> tuple[list[Any], Any]:
    """Reads a turn to its end: chunks, then the response."""
    chunks = [chunk async for chunk in turn.stream]
    return chunks, await turn.response


def kinds(chunks: list[Any]) -> list[str]:
    """The members that the chunks have."""
    return [','.join(chunk.raw.model_dump(by_alias=True, exclude_none=True)) for chunk in chunks]


def plain(value: Any) -> Any:
    """A model of the package as JSON."""
    return value.model_dump(by_alias=True, exclude_none=True, mode='json')


@case('chat: turns go on from each other')
async def _() -> None:
    chat = STORE.chat()
    first = await chat.send('hello')
    same((first.text, first.finish_reason), ('echo(1): hello', 'stop'))
    first.assert_valid()
    second = await chat.send('again')
    same((second.text, second.session_id), ('echo(3): again', first.session_id))
    same(chat.snapshot_id, second.snapshot_id)
    same(len(chat.messages), 4)


@case('chat: unicode and long texts')
async def _() -> None:
    text = 'héllo 😀 \n\n 漢字 \u2028 \x85 "quoted" ' + 'x' * 100_000
    same((await STORE.chat().send(text)).text, f'echo(1): {text}')


@case('stream: words as they are said')
async def _() -> None:
    chunks, response = await read(STORE.chat().send_stream('three words here'))
    same([chunk.text or '' for chunk in chunks], ['echo(1): ', 'three ', 'words ', 'here', ''])
    same(chunks[2].accumulated_text, 'echo(1): three words ')
    same(
        plain(chunks[-1].raw),
        {'turnEnd': {'snapshotId': response.snapshot_id, 'finishReason': 'stop'}},
    )


@case('stream: a tool round')
async def _() -> None:
    chunks, response = await read(STORE.chat().send_stream('/tool getWeather {"city":"Oslo"}'))
    same(chunks[0].raw.model_chunk.role, 'tool')
    same(response.text, 'tool said {"tempC":11}')


@case('interrupt: respond')
async def _() -> None:
    chat = STORE.chat()
    response = await chat.send('/tool confirm {"q":"sure?"} c9')
    same(response.finish_reason, 'interrupted')
    [interrupt] = response.interrupts
    same((interrupt.name, interrupt.ref, interrupt.input), ('confirm', 'c9', {'q': 'sure?'}))
    resumed = await chat.resume(respond=[interrupt.respond({'ok': True})])
    same((resumed.text, resumed.finish_reason), ('tool said {"ok":true}', 'stop'))
    snapshot = await STORE.get_snapshot(snapshot_id=resumed.snapshot_id)
    same(snapshot.parent_id, response.snapshot_id)


@case('interrupt: restart')
async def _() -> None:
    chat = STORE.chat()
    response = await chat.send('/tool danger {"path":"/p"} k2')
    restart = response.interrupts[0].restart()
    same((await chat.resume(restart=[restart])).text, 'tool said "deleted /p (true)"')


@case('interrupt: restart with a reason')
async def _() -> None:
    chat = STORE.chat()
    response = await chat.send('/tool danger {"path":"/p"} k2')
    restart = response.interrupts[0].restart(resumed_metadata={'ok': 1})
    answer = await chat.resume(restart=[restart])
    same(answer.text, 'tool said "deleted /p ({\\"ok\\":1})"')


@case('interrupt: one of two tools')
async def _() -> None:
    chat = STORE.chat()
    response = await chat.send('/two')
    [interrupt] = response.interrupts
    answer = await chat.resume(respond=[interrupt.respond({'ok': False})])
    same(answer.text, 'tool said {"tempC":11},{"ok":false}')


@case('interrupt: a forged answer')
async def _() -> None:
    chat = STORE.chat()
    response = await chat.send('/tool danger {"path":"/p"} k2')
    forged = response.interrupts[0].restart()
    forged.tool_request.input = {'path': '/etc'}
    error = await failure(chat.resume(restart=[forged]))
    same(error.status, 'INVALID_ARGUMENT')
    contains(error.message, 'modified inputs')
    unknown = Part.from_tool_response(name='nope', ref='x', output=1)
    contains((await failure(chat.resume(respond=[unknown]))).message, 'not found in session history')
    same(chat.snapshot_id, response.snapshot_id)


@case('state: patches and artifacts')
async def _() -> None:
    chat = CUSTOM.chat()
    chunks, response = await read(chat.send_stream('one'))
    same(
        kinds(chunks),
        ['customPatch', 'customPatch', 'artifact', 'modelChunk', 'turnEnd'],
    )
    same(chunks[0].custom, {'turns': 1, 'last': 'one'})
    same(chat.state, {'turns': 1, 'last': 'one', 'list': ['one'], 'a/b~c': 3})
    same([plain(it) for it in response.artifacts], [{'name': 'doc', 'parts': [{'text': 'one'}]}])
    await chat.send('two')
    same(chat.state, {'turns': 2, 'last': 'two', 'list': ['one', 'two'], 'a/b~c': 3})
    same([plain(it) for it in chat.artifacts], [{'name': 'doc', 'parts': [{'text': 'two'}]}])


@case('state: of a type')
async def _() -> None:
    class Notes(BaseModel):
        color: str
        n: int = 0

    chat = agent('agentStore', state_schema=Notes).chat()
    await chat.send('/tool remember {"k":"color","v":"red"}')
    same(chat.state, Notes(color='red', n=1))


@case('load: by snapshot')
async def _() -> None:
    chat = CUSTOM.chat()
    response = await chat.send('one')
    loaded = await CUSTOM.load_chat(snapshot_id=response.snapshot_id)
    same((loaded.session_id, len(loaded.messages)), (response.session_id, 2))
    same(loaded.state, chat.state)
    same((await loaded.send('two')).text, 'custom:two')
    same(loaded.state['turns'], 2)


@case('load: by session')
async def _() -> None:
    chat = STORE.chat()
    await chat.send('one')
    response = await chat.send('two')
    loaded = await STORE.load_chat(session_id=response.session_id)
    same(loaded.snapshot_id, response.snapshot_id)
    same((await loaded.send('three')).text, 'echo(5): three')


@case('load: unknown')
async def _() -> None:
    try:
        await STORE.load_chat(session_id='nope')
    except GenkitError as error:
        same(error.status, 'NOT_FOUND')
        return
    raise AssertionError('it was loaded')


@case('chat: in a session of the client')
async def _() -> None:
    session_id = f'made-by-python-{os.getpid()}'
    same((await STORE.chat(session_id=session_id).send('one')).session_id, session_id)
    same((await STORE.chat(session_id=session_id).send('two')).text, 'echo(3): two')


@case('chat: from a snapshot, twice')
async def _() -> None:
    first = await STORE.chat().send('root')
    for text in ['a', 'b']:
        branch = await STORE.chat(snapshot_id=first.snapshot_id).send(text)
        same(branch.text, f'echo(3): {text}')
        snapshot = await STORE.get_snapshot(snapshot_id=branch.snapshot_id)
        same(snapshot.parent_id, first.snapshot_id)


@case('snapshot: its members')
async def _() -> None:
    response = await STORE.chat().send('hello')
    snapshot = await STORE.get_snapshot(snapshot_id=response.snapshot_id)
    same((snapshot.status, snapshot.finish_reason), ('completed', 'stop'))
    same(len(snapshot.state.messages), 2)
    same(plain(await STORE.get_snapshot(session_id=response.session_id)), plain(snapshot))


@case('snapshot: unknown')
async def _() -> None:
    same(await STORE.get_snapshot(snapshot_id='nope'), None)


@case('failure: the model, and on from the last good turn')
async def _() -> None:
    chat = STORE.chat()
    good = await chat.send('good')
    error = await failure(chat.send('/fail'))
    same((error.status, error.snapshot_id), ('UNAVAILABLE', good.snapshot_id))
    contains(error.message, 'model down')
    same(error.details['retry'], True)
    same((await chat.send('better')).text, 'echo(3): better')


@case('failure: by session after a failed turn')
async def _() -> None:
    chat = STORE.chat()
    await chat.send('good')
    await failure(chat.send('/fail'))
    leaf = await STORE.get_snapshot(session_id=chat.session_id)
    same((leaf.status, leaf.finish_reason, leaf.error.status), ('failed', 'failed', 'UNAVAILABLE'))
    same((await STORE.chat(session_id=chat.session_id).send('again')).text, 'echo(3): again')


@case('failure: the first turn')
async def _() -> None:
    error = await failure(CUSTOM.chat().send('fail now'))
    same((error.status, error.snapshot_id), ('RESOURCE_EXHAUSTED', None))


@case('failure: what is internal stays so')
async def _() -> None:
    for chat, text in [(STORE.chat(), '/boom'), (CUSTOM.chat(), 'plain')]:
        error = await failure(chat.send(text))
        same(error.status, 'INTERNAL')
        same('hunter2' in error.message, False)


@case('failure: an unknown snapshot')
async def _() -> None:
    same((await failure(STORE.chat(snapshot_id='nope').send('x'))).status, 'NOT_FOUND')


@case('failure: a state for an agent with a store')
async def _() -> None:
    chat = agent('agentStore', 'client').chat(state={'a': 1})
    error = await failure(chat.send('x'))
    same(error.status, 'FAILED_PRECONDITION')
    contains(error.message, "Cannot send 'state' to agent")


@case('failure: no such agent')
async def _() -> None:
    same((await failure(agent('noSuchAgent').chat().send('x'))).status, 'NOT_FOUND')


@case('client state: turns')
async def _() -> None:
    chat = CLIENT.chat(state={'seed': True})
    first = await chat.send('hi')
    same((first.snapshot_id, chat.state), (None, {'seed': True}))
    second = await chat.send('hi2')
    same((second.text, second.session_id), ('echo(3): hi2', first.session_id))
    same(len(chat.messages), 4)


@case('client state: tools and interrupts')
async def _() -> None:
    chat = CLIENT.chat()
    await chat.send('/tool remember {"k":"a","v":1}')
    same(chat.state, {'a': 1, 'n': 1})
    response = await chat.send('/tool confirm {"q":"?"} c1')
    answer = await chat.resume(respond=[response.interrupts[0].respond('yes')])
    same(answer.text, 'tool said "yes"')
    same(len(chat.artifacts), 1)


@case('client state: a failure gives the last good state back')
async def _() -> None:
    chat = CLIENT.chat(state={'seed': True})
    await chat.send('hi')
    error = await failure(chat.send('/fail'))
    same((error.status, chat.state), ('UNAVAILABLE', {'seed': True}))
    same((await chat.send('again')).text, 'echo(3): again')


@case('client state: a session id is refused')
async def _() -> None:
    error = await failure(agent('agentClient').chat(session_id='s').send('x'))
    same(error.status, 'FAILED_PRECONDITION')
    contains(error.message, "Cannot use 'sessionId'")


@case('client state: of the wrong type')
async def _() -> None:
    typed = agent('agentSchema', 'client')
    same((await failure(typed.chat(state={'n': 'no'}).send('x'))).status, 'INVALID_ARGUMENT')
    same((await typed.chat(state={'n': 1}).send('x')).text, 'echo(1): x')


@case('detach: wait')
async def _() -> None:
    chat = CUSTOM.chat()
    task = await chat.detach('wait 200')
    snapshot = await task.wait(interval=0.02)
    same((snapshot.status, snapshot.finish_reason), ('completed', 'stop'))
    same(snapshot.state.custom['last'], 'wait 200')
    same((await chat.send('next')).text, 'custom:next')
    same(chat.state['turns'], 2)


@case('detach: poll')
async def _() -> None:
    task = await CUSTOM.chat().detach('wait 800')
    seen = [snapshot.status async for snapshot in task.poll(interval=0.05)]
    same((seen[0], seen[-1]), ('pending', 'completed'))


@case('detach: abort')
async def _() -> None:
    chat = CUSTOM.chat()
    task = await chat.detach('wait 20000')
    same(await task.abort(), 'pending')
    same((await task.wait(interval=0.02)).status, 'aborted')
    same(await task.abort(), 'aborted')


@case('detach: a failure')
async def _() -> None:
    task = await CUSTOM.chat().detach('fail')
    snapshot = await task.wait(interval=0.02)
    same((snapshot.status, snapshot.error.status), ('failed', 'RESOURCE_EXHAUSTED'))


@case('abort: what has ended, and what never was')
async def _() -> None:
    response = await STORE.chat().send('x')
    same(await STORE.abort(response.snapshot_id), 'completed')
    same(await STORE.abort('nope'), None)


@case('transform: state, chunks and snapshots')
async def _() -> None:
    chunks, response = await read(agent('redacted', 'client').chat().send_stream('x'))
    same(kinds(chunks), ['customPatch', 'turnEnd'])
    same(response.raw.state.custom, {'visible': 1})
    redacted = agent('redactedStore')
    response = await redacted.chat().send('x')
    snapshot = await redacted.get_snapshot(snapshot_id=response.snapshot_id)
    same(snapshot.state.custom, {'visible': 1})


@case('client: headers from a function')
async def _() -> None:
    asked = 0

    async def headers() -> dict[str, str]:
        nonlocal asked
        asked += 1
        return {'x-test': str(asked)}

    chat = agent('agentStore', headers=headers).chat()
    await chat.send('a')
    await chat.send('b')
    same(asked, 2)


@case('failure: an empty input')
async def _() -> None:
    same((await failure(STORE.chat().send(AgentInput()))).status, 'INVALID_ARGUMENT')


async def main() -> int:
    failed = 0
    for name, run_case in CASES.items():
        try:
            await asyncio.wait_for(run_case(), timeout=10)
            print(f'ok {name}', flush=True)
        except Exception as error:  # noqa: BLE001
            failed += 1
            why = f'{type(error).__name__}: {error}'.replace('\n', ' ')
            print(f'FAILED {name}: {why}', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(asyncio.run(main()))
