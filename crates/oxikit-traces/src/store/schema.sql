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
-- Few at any time.
CREATE INDEX traces_running ON traces (number) WHERE state = 0;

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
-- Spans whose words are not in the index yet, as runs of numbers that follow each other:
-- as a rule those of a post.
CREATE TABLE fresh (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL
);

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

-- How many rows there are, and up to which number they were counted: to count them all
-- takes long when there are many, so rows that come are counted later, with others.
CREATE TABLE counts (
    name TEXT PRIMARY KEY,
    amount INTEGER NOT NULL,
    last INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counts VALUES ('traces', 0, 0), ('logs', 0, 0);

-- Traces of 1,024 numbers that follow each other, once there are newer ones: between which
-- times they began, and between which durations they took. Bounds may be wider than need be,
-- never narrower. Without any trace the least is infinite and the most is minus infinite.
CREATE TABLE blocks (
    number INTEGER PRIMARY KEY,
    min_start REAL NOT NULL,
    max_start REAL NOT NULL,
    min_duration REAL NOT NULL,
    max_duration REAL NOT NULL
);
