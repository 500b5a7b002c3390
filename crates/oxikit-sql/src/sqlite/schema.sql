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
