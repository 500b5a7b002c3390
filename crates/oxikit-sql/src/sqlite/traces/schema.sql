-- What a list shows of a trace. Numbers are in the order of the first span's
-- arrival, which is the order of the list.
CREATE TABLE traces (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    -- Of the root, or of the first span while no root is known.
    head INTEGER NOT NULL,
    has_root INTEGER NOT NULL,
    name TEXT NOT NULL,
    type TEXT,
    start REAL NOT NULL,
    -- NULL while it runs.
    end REAL,
    -- 0 is running, 1 is a success, 2 an error.
    state INTEGER NOT NULL,
    -- As the span has it; NULL if it has none.
    code INTEGER,
    session TEXT,
    -- Sums over the spans.
    spans INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    cost REAL,
    -- Milliseconds since 1970.
    written_at INTEGER NOT NULL
);
CREATE INDEX traces_by_name ON traces (name);
CREATE INDEX traces_failed ON traces (number) WHERE state = 2;

-- The number of a span is that of its trace times 2^20, and its place.
CREATE TABLE spans (
    number INTEGER PRIMARY KEY,
    trace INTEGER NOT NULL,
    id TEXT NOT NULL,
    -- 0 while it runs.
    end REAL NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    total_tokens INTEGER,
    cost REAL,
    json TEXT NOT NULL,
    UNIQUE (trace, id)
);

-- What a trace can be found by, besides its columns and its text.
CREATE TABLE labels (
    trace INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (trace, name, value)
) WITHOUT ROWID;
CREATE INDEX labels_by_value ON labels (name, value, trace);

-- The words of ended spans, by the numbers of the spans. Words are made outside,
-- each of letters and digits only.
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);
-- Spans whose words are not there yet.
CREATE TABLE fresh (number INTEGER PRIMARY KEY);

CREATE TABLE logs (
    number INTEGER PRIMARY KEY,
    trace TEXT,
    span TEXT,
    severity INTEGER NOT NULL,
    severity_text TEXT NOT NULL COLLATE NOCASE,
    written_at INTEGER NOT NULL,
    json TEXT NOT NULL
);
CREATE INDEX logs_by_trace ON logs (trace) WHERE trace IS NOT NULL;

-- Data sets and evaluations of earlier versions: the store of the project has them now,
-- and moves over what it finds here.
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (kind, id)
);
