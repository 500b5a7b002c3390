-- All that a list shows, so that a list reads nothing else.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at TEXT NOT NULL,
    snapshots INTEGER NOT NULL,
    orphans INTEGER NOT NULL,
    metadata TEXT,
    -- The latest snapshot.
    latest INTEGER NOT NULL,
    latest_id TEXT NOT NULL,
    latest_created_at TEXT NOT NULL,
    updated_at TEXT,
    heartbeat_at TEXT,
    status TEXT,
    finish_reason TEXT,
    is_active INTEGER NOT NULL,
    -- The newest completed one.
    completed INTEGER,
    completed_at TEXT,
    messages INTEGER NOT NULL,
    has_artifacts INTEGER NOT NULL,
    -- What is kept of the session, and how much of that may have lost its use.
    bytes INTEGER NOT NULL,
    garbage INTEGER NOT NULL,
    -- The order of the last writes, and their time.
    written INTEGER NOT NULL,
    written_at INTEGER NOT NULL,
    UNIQUE (owner, session)
);
CREATE INDEX sessions_by_writing ON sessions (owner, is_active, written);
CREATE INDEX sessions_by_agent ON sessions (owner, agent, is_active, written);

CREATE TABLE snapshots (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    parent TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT,
    heartbeat_at TEXT,
    status TEXT,
    finish_reason TEXT,
    error TEXT,
    has_state INTEGER NOT NULL,
    segment INTEGER,
    messages INTEGER,
    message_bytes INTEGER,
    custom INTEGER,
    custom_depth INTEGER,
    custom_bytes INTEGER,
    -- Documents and their bytes, such as `12:345,13:20`.
    artifacts TEXT,
    head_bytes INTEGER NOT NULL,
    work TEXT,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX snapshots_by_id ON snapshots (id, owner);
CREATE INDEX snapshots_with_work ON snapshots (session) WHERE work IS NOT NULL;

-- A segment goes on from the first `kept` messages of its parent.
CREATE TABLE segments (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    parent INTEGER,
    kept INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;

-- A message's place counts from the start of the conversation.
CREATE TABLE messages (
    segment INTEGER NOT NULL,
    place INTEGER NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (segment, place)
) WITHOUT ROWID;

-- Custom state and artifacts. With a base, the text is what to change in that.
CREATE TABLE documents (
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    base INTEGER,
    json TEXT NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;

-- No time is kept: whoever wants a lease watches `beat` by its own clock.
CREATE TABLE leases (
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    fence INTEGER NOT NULL,
    beat INTEGER NOT NULL,
    holder TEXT NOT NULL,
    ttl_ms INTEGER NOT NULL,
    PRIMARY KEY (owner, session)
) WITHOUT ROWID;

-- One counter numbers everything: rows, leases, the order of writes. A number is
-- never given twice, so that nothing is mistaken for something that was deleted.
-- It is the fence of the one lease without an owner, as every turn writes this page.
INSERT INTO leases VALUES ('', '', 0, 0, '', 0);

CREATE TABLE streams (
    id TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    owner TEXT NOT NULL,
    position INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- Seconds since 1970.
    ended_at INTEGER
) WITHOUT ROWID;
CREATE INDEX streams_by_end ON streams (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE events (
    stream INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (stream, sequence)
) WITHOUT ROWID;

-- Tasks. An update writes the whole row, so that it has nothing long in it: the status is
-- that of the event `status_at`.
CREATE TABLE tasks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    context TEXT NOT NULL,
    -- The number in the protocol.
    state INTEGER NOT NULL,
    -- 0 while it goes on, 1 while it waits for its client, 2 when it has ended.
    phase INTEGER NOT NULL,
    status_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    runner TEXT,
    last_write TEXT,
    -- The order of the last changes of the status, and their time in milliseconds since 1970.
    changed INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    -- The time of the last event, in milliseconds since 1970.
    written_at INTEGER NOT NULL
);
CREATE INDEX tasks_by_change ON tasks (scope, changed);
CREATE INDEX tasks_of_context ON tasks (scope, context, changed);
CREATE INDEX tasks_of_runner ON tasks (runner) WHERE runner IS NOT NULL;
CREATE INDEX tasks_ended ON tasks (written_at, changed) WHERE phase = 2;
CREATE INDEX tasks_waiting ON tasks (written_at) WHERE phase = 1;

CREATE TABLE task_metadata (
    task INTEGER PRIMARY KEY,
    json TEXT NOT NULL
);

CREATE TABLE task_events (
    task INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (task, sequence)
) WITHOUT ROWID;

CREATE TABLE task_pushes (
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    -- The order of registration.
    number INTEGER NOT NULL,
    json TEXT NOT NULL,
    delivered INTEGER NOT NULL,
    -- Whether the task has events behind `delivered`.
    is_pending INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- Milliseconds since 1970.
    due_at INTEGER NOT NULL,
    claimed_by TEXT,
    PRIMARY KEY (task, id)
) WITHOUT ROWID;
CREATE INDEX task_pushes_due ON task_pushes (due_at, number)
    WHERE is_pending = 1 AND claimed_by IS NULL;
CREATE INDEX task_pushes_claimed ON task_pushes (claimed_by) WHERE claimed_by IS NOT NULL;

CREATE TABLE task_runners (
    runner TEXT NOT NULL PRIMARY KEY,
    -- Grows with every renewal.
    number INTEGER NOT NULL
) WITHOUT ROWID;
