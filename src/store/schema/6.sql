-- Processors and memory of the host that a job takes; 0: it did not say.

ALTER TABLE jobs ADD COLUMN cpus REAL NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN host_memory_gb REAL NOT NULL DEFAULT 0;
