-- Data sets, evaluations and the like. A version is 1 and grows with every change.
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- Milliseconds since 1970.
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (kind, id)
);

-- What was moved over from the database of the traces, as it was there: it is not moved
-- again if it could not be removed there.
CREATE TABLE moved (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
