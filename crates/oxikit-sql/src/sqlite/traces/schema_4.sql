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
