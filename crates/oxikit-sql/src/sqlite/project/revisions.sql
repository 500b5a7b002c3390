-- The revision logs of texts that people edit. A rename changes one row: revisions and labels
-- refer to a log by its number. `newest` is the number of its last revision, `current` that of
-- its last applied one.
CREATE TABLE logs (
    number INTEGER PRIMARY KEY,
    document TEXT NOT NULL UNIQUE,
    newest INTEGER NOT NULL,
    current INTEGER NOT NULL
);

-- `at` is in milliseconds since 1970. The text is NULL if the document was deleted. It is the
-- last column, so that the others can be read without the pages of a long text.
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    at INTEGER NOT NULL,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    op TEXT,
    outcome TEXT,
    text TEXT,
    UNIQUE (log, revision)
);
CREATE INDEX revisions_op ON revisions (log, op, revision) WHERE op IS NOT NULL;

CREATE TABLE labels (
    number INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    label TEXT NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (log, label)
);
