-- Whether the index may have words of these spans already.
ALTER TABLE fresh ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
UPDATE fresh SET again = 1;

-- More pieces of the index wait to be put together, and each word is copied less often.
INSERT INTO words (words, rank) VALUES ('automerge', 8);
