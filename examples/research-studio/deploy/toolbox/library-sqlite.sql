-- The research library in SQLite. The tools of sqlite.yaml use these tables.

CREATE TABLE IF NOT EXISTS papers (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    authors TEXT NOT NULL DEFAULT '',
    year INTEGER NOT NULL,
    abstract TEXT NOT NULL DEFAULT '',
    url TEXT NOT NULL DEFAULT ''
);

CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY,
    paper_id INTEGER NOT NULL REFERENCES papers (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE IF NOT EXISTS tags (
    paper_id INTEGER NOT NULL REFERENCES papers (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (paper_id, tag)
);

INSERT INTO papers (title, authors, year, abstract, url)
SELECT * FROM (
    SELECT 'Calendar ageing of lithium iron phosphate cells', 'R. Okafor, M. Lindqvist', 2025,
        'The mean loss of capacity is 1.8 percent a year.', 'https://papers.example/lfp'
    UNION ALL
    SELECT 'Self-consumption of solar power in 1200 households', 'H. Tanaka, L. Moreau', 2026,
        'Households with a battery consume 62 percent of their solar power.', 'https://papers.example/self'
    UNION ALL
    SELECT 'Sodium-ion cells for stationary storage', 'S. Banerjee', 2026,
        'Sodium-ion batteries reach 4200 cycles.', 'https://papers.example/sodium'
)
WHERE NOT EXISTS (SELECT 1 FROM papers);
