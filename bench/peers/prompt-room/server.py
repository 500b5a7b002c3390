"""A prompt manager of our own as it is first written: FastAPI, one list of sockets a document.

An update rewrites the file, is answered, and is then sent to every other socket in turn, serialised anew each
time. This is the hot path of the reference Prompt Manager, and nothing else of it: no history, no merge.
"""
import datetime
import os
import tempfile

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect

app = FastAPI()
rooms: dict[str, list[WebSocket]] = {}
contents: dict[str, str] = {}
# Below `$TMPDIR`, which the benchmark sets and removes.
folder = tempfile.mkdtemp(prefix='prompt-room-')


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


@app.get('/health')
async def health():
    return 'OK'


async def save(ws, prompt_id, content):
    contents[prompt_id] = content
    with open(os.path.join(folder, f'{prompt_id}.md'), 'w', encoding='utf-8') as f:
        f.write(content)
    await ws.send_json({'action': 'update_status', 'success': True, 'timestamp': now()})


async def send_to_others(ws, room, content):
    for other in list(room):
        if other is not ws:
            try:
                await other.send_json({'action': 'update', 'content': content, 'timestamp': now()})
            except Exception:
                pass


@app.websocket('/api/prompts/ws/{prompt_id}')
async def live(ws: WebSocket, prompt_id: str):
    await ws.accept()
    room = rooms.setdefault(prompt_id, [])
    room.append(ws)
    try:
        await ws.send_json({'action': 'initial', 'content': contents.get(prompt_id, ''), 'description': None,
                            'tags': [], 'prompt_type': 'standard', 'updated_at': now()})
        while True:
            message = await ws.receive_json()
            if message.get('action') == 'update':
                await save(ws, prompt_id, message['content'])
                await send_to_others(ws, room, message['content'])
    except WebSocketDisconnect:
        pass
    finally:
        room.remove(ws)


port = int(os.environ.get('PORT', '3570'))
uvicorn.run(app, host='127.0.0.1', port=port, log_level='error', access_log=False)
