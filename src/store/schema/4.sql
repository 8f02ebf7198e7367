-- How sure a saving is. What was booked before was a guess, and counts as one.

ALTER TABLE energy ADD COLUMN saved_error REAL NOT NULL DEFAULT 0;
ALTER TABLE energy ADD COLUMN unknown_joules REAL NOT NULL DEFAULT 0;
UPDATE energy SET saved_joules = 0,
    unknown_joules = CASE WHEN job = 0 THEN 0 ELSE joules END;
