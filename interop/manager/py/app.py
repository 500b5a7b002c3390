"""The application of the Python suites: flows that run, stream, fail, wait and log."""

from __future__ import annotations

import asyncio
import os

from genkit import ActionRunContext, Genkit, GenkitError
from genkit._core._logger import get_logger
from pydantic import BaseModel

ai = Genkit()
logger = get_logger('app')


class Person(BaseModel):
    """Who is greeted."""

    name: str
    visits: int = 1


@ai.flow(description='Greets somebody')
async def greet(person: Person) -> dict[str, object]:
    return {'text': f'Hi {person.name}', 'visits': person.visits, 'share': person.visits / 2}


@ai.flow()
async def countdown(start: int, ctx: ActionRunContext) -> str:
    for number in range(start, 0, -1):
        ctx.send_chunk(number)
    return 'liftoff'


@ai.flow()
async def outer(name: str) -> str:
    greeting = await greet(Person(name=name))
    return f'{greeting["text"]}!'


@ai.flow()
async def boom(_: int) -> str:
    raise ValueError('kaboom')


@ai.flow()
async def refuse(_: int) -> str:
    raise GenkitError(status='PERMISSION_DENIED', message='not for you')


@ai.flow()
async def slow(milliseconds: int) -> str:
    await asyncio.sleep(milliseconds / 1000)
    return 'done'


@ai.flow()
async def whoami(_: int) -> dict[str, object]:
    return {'pid': os.getpid(), 'name': os.environ.get('APP_NAME')}


@ai.flow()
async def tell(word: str) -> str:
    logger.info(f'the word is {word}')
    logger.error('and this is an error', word=word)
    return word


@ai.tool()
async def double(number: int) -> int:
    """Doubles a number."""
    return number * 2


async def main() -> None:
    await asyncio.Event().wait()


ai.run_main(main())
