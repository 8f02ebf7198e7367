-- Latency of services, as other things that are measured of a job.

ALTER TABLE measurements ADD COLUMN latency_s REAL;
ALTER TABLE measurement_hours ADD COLUMN timed_s REAL NOT NULL DEFAULT 0;
ALTER TABLE measurement_hours ADD COLUMN latency_sum REAL NOT NULL DEFAULT 0;
ALTER TABLE measurement_hours ADD COLUMN latency_high REAL;
