"""The agents of ../app for the official Python server, of the version that is installed."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from importlib.metadata import version
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater

if version('a2a-sdk').startswith('0.'):
    from server_0_3 import ask, message_of, new_task, part
else:
    from server_1 import ask, message_of, new_task, part


class Script(AgentExecutor):
    """Does what a message says."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """The gates at which tasks wait, by their id."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        task = context.current_task
        if task:
            # The second message of a task is the answer to the question of `ask`.
            text = f'answer: {text}'
        else:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updates = TaskUpdater(event_queue, task.id, task.context_id)
        match text.split(' '):
            case ['ask']:
                await ask(updates, said(updates, 'which city?'))
            case ['chunks']:
                await chunks(updates)
            case ['fail']:
                await updates.failed(said(updates, 'no such city'))
            case ['hold']:
                await updates.start_work(said(updates, 'holding'))
                await self.gates[task.id].wait()
                await echo(updates, 'released')
            case ['release', held]:
                self.gates[held].set()
                await echo(updates, text)
            case _:
                await echo(updates, text)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Reply(AgentExecutor):
    """Answers with a message and without a task."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await event_queue.enqueue_event(message_of(f're: {context.get_user_input()}'))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError('there is no task')


def said(updates: TaskUpdater, text: str) -> Any:
    return updates.new_agent_message([part(text)])


async def echo(updates: TaskUpdater, text: str) -> None:
    await updates.add_artifact([part(text)], artifact_id='echo', last_chunk=True)
    await updates.complete()


async def chunks(updates: TaskUpdater) -> None:
    pieces = [('one ', False, False), ('two ', True, False), ('three', True, True)]
    for text, append, last in pieces:
        await updates.add_artifact(
            [part(text)], artifact_id='text', append=append, last_chunk=last
        )
    await updates.complete()
