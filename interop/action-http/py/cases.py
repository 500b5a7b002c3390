"""The official Python package against the application of ../app.

Prints `ok name` or `FAILED name: why` for every case.

    python cases.py http://127.0.0.1:PORT

The package has one HTTP client, that of agents (`genkit.exp.remote_agent` over
`HttpAgentTransport`). It is used here in two ways: whole, against a flow in the
shape of an agent's turn; and in its parts, against all other flows: `_post_json`
for unary calls, and for streams the loop of `run_turn`, whose line parser and
error readers are the package's own.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from genkit._ai._agents._client import error_from_http
from genkit._ai._agents._transports._http import (
    HttpAgentTransport,
    parse_stream_line,
    remote_agent,
    stream_error_from_payload,
)
from genkit._core._http_client import get_cached_client
from genkit._core._model import AgentInit, AgentInput

BASE = sys.argv[1]

# Every status with the HTTP status it is told by.
STATUSES = {
    'CANCELLED': 499,
    'UNKNOWN': 500,
    'INVALID_ARGUMENT': 400,
    'DEADLINE_EXCEEDED': 504,
    'NOT_FOUND': 404,
    'ALREADY_EXISTS': 409,
    'PERMISSION_DENIED': 403,
    'UNAUTHENTICATED': 401,
    'RESOURCE_EXHAUSTED': 429,
    'FAILED_PRECONDITION': 400,
    'ABORTED': 409,
    'OUT_OF_RANGE': 400,
    'UNIMPLEMENTED': 501,
    'INTERNAL': 500,
    'UNAVAILABLE': 503,
    'DATA_LOSS': 500,
}

CASES: dict[str, Callable[[], Awaitable[None]]] = {}


def case(name: str) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Lists a case under its name."""

    def add(run: Callable[[], Awaitable[None]]) -> None:
        CASES[name] = run

    return add


def url(name: str) -> str:
    return f'{BASE}/{name}'


def transport(name: str, **options: Any) -> HttpAgentTransport[Any]:
    return HttpAgentTransport(url(name), state_management='client', **options)


async def run(name: str, data: Any, **options: Any) -> Any:
    """A unary call, by the package."""
    return await transport(name, **options)._post_json(url=url(name), input_val=data)


async def stream(name: str, body: dict[str, Any], **headers: str) -> tuple[list[Any], Any, Any]:
    """A streaming call, read as `run_turn` reads it: chunks, result, stream id."""
    chunks: list[Any] = []
    headers = {'Accept': 'text/event-stream', **headers}
    client = get_cached_client('agent_transport')
    async with client.stream('POST', url(name), json=body, headers=headers) as response:
        if response.status_code != 200:
            text = (await response.aread()).decode(errors='ignore')
            raise error_from_http(status_code=response.status_code, body=text)
        async for line in response.aiter_lines():
            data = parse_stream_line(line)
            if data is None:
                continue
            if 'result' in data:
                return chunks, data['result'], response.headers.get('x-genkit-stream-id')
            if 'error' in data:
                error = stream_error_from_payload(data)
                error.chunks = chunks  # type: ignore[attr-defined]
                raise error
            chunks.append(data['message'])
    raise AssertionError('the stream ended without a last block')


async def failure(call: Awaitable[Any]) -> Any:
    """The error that a call ends with."""
    try:
        value = await call
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError(f'it answered {value!r}')


def same(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f'expected {expected!r}, got {actual!r}')


@case('run: values')
async def _() -> None:
    for data in [{'a': 1}, 0, -1.5, '', 'text', [], [1, 'a'], False, True, {}, None]:
        same(await run('echo', data), {'got': data})


@case('run: unicode both ways')
async def _() -> None:
    data = 'héllo 😀 \n\n 漢字 \u2028 "quoted"'
    same(await run('echo', data), {'got': data})


@case('run: no output')
async def _() -> None:
    same(await run('undefOut', {}), None)


@case('run: 1 MB both ways')
async def _() -> None:
    data = 'x' * 1_000_000
    same((await run('echo', data))['got'], data)


@case('run: an input that does not fit')
async def _() -> None:
    error = await failure(run('typed', {'question': 5}))
    same(error.status, 'INVALID_ARGUMENT')


@case('run: an unknown path is none')
async def _() -> None:
    same(await run('nope', 1), None)


@case('run: an error of no status is masked')
async def _() -> None:
    error = await failure(run('throwing', {'kind': 'plain'}))
    same(error.status, 'INTERNAL')
    assert 'hunter2' not in str(error), error


@case('auth: missing, wrong, right')
async def _() -> None:
    same((await failure(run('authed', 1))).status, 'UNAUTHENTICATED')
    wrong = run('authed', 1, headers={'Authorization': 'bad'})
    same((await failure(wrong)).status, 'PERMISSION_DENIED')
    right = await run('authed', 1, headers={'Authorization': 'sekret'})
    same(right, {'context': {'auth': {'apiKey': 'sekret'}}})


@case('auth: headers made for every call')
async def _() -> None:
    async def headers() -> dict[str, str]:
        return {'Authorization': 'Bearer sekret'}

    right = await run('authed', 1, headers=headers)
    same(right, {'context': {'auth': {'apiKey': 'sekret'}}})


@case('auth: missing on a stream is an HTTP error')
async def _() -> None:
    same((await failure(stream('authed', {'data': 1}))).status, 'UNAUTHENTICATED')


@case('stream: chunks in order, then the result')
async def _() -> None:
    chunks, result, _ = await stream('count', {'data': {'n': 100}})
    same([chunk['count'] for chunk in chunks], list(range(100)))
    same(result, 'done')


@case('stream: no chunk')
async def _() -> None:
    same((await stream('voidIn', {}))[:2], ([], 'banana'))


@case('stream: null, 0, {} and line breaks as chunks')
async def _() -> None:
    chunks, result, _ = await stream('uni', {'data': 1})
    same(chunks, ['héllo 😀 \n\n newline', None, 0, {}])
    same(result, 'é😀')


@case('stream: 2000 chunks of multi-byte characters')
async def _() -> None:
    text = 'é漢😀\u2028\u0085' * 40
    chunks, result, _ = await stream('lines', {'data': {'n': 2000, 'text': text}})
    same(len(chunks), 2000)
    assert all(chunk == text for chunk in chunks), 'a chunk was garbled'
    same(result, text)


@case('stream: a chunk of 200 kB')
async def _() -> None:
    chunks, result, _ = await stream('big', {'data': {'size': 200_000}})
    same(chunks, ['x' * 200_000])
    same(result, {'len': 15})


@case('stream: init')
async def _() -> None:
    _, result, _ = await stream('initFlow', {'data': 1, 'init': {'sid': 's'}})
    same(result, {'i': 1, 'init': {'sid': 's'}})


@case('stream: an error after two chunks')
async def _() -> None:
    data = {'chunks': 2, 'status': 'ABORTED', 'message': 'later'}
    error = await failure(stream('throwing', {'data': data}))
    same((error.chunks, error.status), ([{'k': 0}, {'k': 1}], 'ABORTED'))


@case('durable: resume a finished stream')
async def _() -> None:
    chunks, result, stream_id = await stream('durableCount', {'data': {'n': 3}})
    assert stream_id, 'there is no stream id'
    again = await stream('durableCount', {}, **{'x-genkit-stream-id': stream_id})
    same(again[:2], (chunks, result))


@case('durable: an unknown id is 204')
async def _() -> None:
    client = get_cached_client('agent_transport')
    headers = {'Accept': 'text/event-stream', 'x-genkit-stream-id': 'no-such-stream'}
    response = await client.post(url('durableCount'), json={}, headers=headers)
    same((response.status_code, response.content), (204, b''))


@case('turn: a whole turn of the agent client')
async def _() -> None:
    chat = remote_agent(url('turn'), state_management='client').chat()
    turn = chat.send_stream('one two 漢字😀')
    chunks = [chunk async for chunk in turn.stream]
    response = await turn.response
    same(''.join(chunk.text for chunk in chunks if chunk.text), 'onetwo漢字😀')
    same((response.text, str(response.finish_reason)), ('one two 漢字😀', 'stop'))


@case('turn: two turns of one chat')
async def _() -> None:
    chat = remote_agent(url('turn'), state_management='client').chat()
    same((await chat.send('one')).text, 'one')
    same((await chat.send('two')).text, 'two')


@case('turn: the transport sends init')
async def _() -> None:
    init = AgentInit.model_validate({'sessionId': 's1'})
    agent_input = AgentInput.model_validate({'message': {'role': 'user', 'content': [{'text': 'hi'}]}})
    chunks, output = await transport('turn').run_turn(agent_input=agent_input, init=init)
    texts = [chunk.model_chunk.content[0].text async for chunk in chunks if chunk.model_chunk]
    same(texts, ['hi'])
    same((await output).state.custom, {'init': {'sessionId': 's1'}})


@case('turn: an unknown path keeps its status')
async def _() -> None:
    chat = remote_agent(url('nope'), state_management='client').chat()
    same((await failure(_send(chat, 'hi'))).status, 'NOT_FOUND')


async def _send(chat: Any, text: str) -> Any:
    return await chat.send(text)


def add_statuses() -> None:
    for status, http in STATUSES.items():
        data = {'status': status, 'message': 'm', 'details': {'d': 1}}

        async def unary(status: str = status, http: int = http, data: Any = data) -> None:
            if http == 404:
                # The package reads every 404 of a unary call as "there is none".
                same(await run('throwing', data), None)
                return
            error = await failure(run('throwing', data))
            same((error.status, error.details['d']), (status, 1))

        async def in_band(status: str = status, data: Any = data) -> None:
            error = await failure(stream('throwing', {'data': {**data, 'chunks': 1}}))
            same((error.chunks, error.status, error.details['d']), ([{'k': 0}], status, 1))

        async def of_turn(status: str = status) -> None:
            chat = remote_agent(url('turn'), state_management='client').chat()
            error = await failure(_send(chat, f'fail {status} word'))
            same(error.status, status)

        CASES[f'status: {status}, unary'] = unary
        CASES[f'status: {status}, in-band'] = in_band
        CASES[f'status: {status}, of a turn'] = of_turn


async def main() -> int:
    add_statuses()
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
