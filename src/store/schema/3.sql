-- The rest of what a probe sees of a service, for the replay after a restart.

ALTER TABLE measurements ADD COLUMN median_s REAL;
ALTER TABLE measurements ADD COLUMN busy REAL;
ALTER TABLE measurements ADD COLUMN held REAL;
