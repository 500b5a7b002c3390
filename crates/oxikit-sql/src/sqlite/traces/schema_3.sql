-- What was counted, and up to which number: a row that comes is counted later, with others.
DROP TRIGGER traces_come;
DROP TRIGGER traces_go;
DROP TRIGGER logs_come;
DROP TRIGGER logs_go;
ALTER TABLE counts ADD COLUMN last INTEGER NOT NULL DEFAULT 0;
UPDATE counts SET last = (SELECT COALESCE(MAX(number), 0) FROM traces) WHERE name = 'traces';
UPDATE counts SET last = (SELECT COALESCE(MAX(number), 0) FROM logs) WHERE name = 'logs';
