-- A sum of each text that is handed out as it stands, so that a damaged one is noticed.  What
-- is no JSON any more gets one that cannot be right.

ALTER TABLE quotes ADD COLUMN detail_sum INTEGER;
ALTER TABLE decisions ADD COLUMN alternatives_sum INTEGER;
ALTER TABLE events ADD COLUMN data_sum INTEGER;
UPDATE quotes SET detail_sum = iif(json_valid(detail), text_sum(detail), 0)
    WHERE detail IS NOT NULL;
UPDATE decisions SET alternatives_sum = iif(json_valid(alternatives), text_sum(alternatives), 0)
    WHERE alternatives IS NOT NULL;
UPDATE events SET data_sum = iif(json_valid(data), text_sum(data), 0);
