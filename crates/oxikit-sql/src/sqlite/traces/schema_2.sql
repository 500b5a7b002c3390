-- How many rows there are: to count them takes long when there are many.
CREATE TABLE counts (
    name TEXT PRIMARY KEY,
    amount INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counts SELECT 'traces', COUNT(*) FROM traces;
INSERT INTO counts SELECT 'logs', COUNT(*) FROM logs;

CREATE TRIGGER traces_come AFTER INSERT ON traces BEGIN
    UPDATE counts SET amount = amount + 1 WHERE name = 'traces';
END;
CREATE TRIGGER traces_go AFTER DELETE ON traces BEGIN
    UPDATE counts SET amount = amount - 1 WHERE name = 'traces';
END;
CREATE TRIGGER logs_come AFTER INSERT ON logs BEGIN
    UPDATE counts SET amount = amount + 1 WHERE name = 'logs';
END;
CREATE TRIGGER logs_go AFTER DELETE ON logs BEGIN
    UPDATE counts SET amount = amount - 1 WHERE name = 'logs';
END;

-- Few at any time.
CREATE INDEX traces_running ON traces (number) WHERE state = 0;

-- Spans whose words are not there yet follow each other: as a rule those of a post.
CREATE TABLE fresh_runs (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL
);
INSERT INTO fresh_runs SELECT number, number FROM fresh;
DROP TABLE fresh;
ALTER TABLE fresh_runs RENAME TO fresh;
