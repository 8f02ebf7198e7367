-- The tables of the store.  Times are seconds since the epoch.  Names of devices, users and
-- GPU types are text, so that rows keep their meaning when the cluster's file changes.  Only
-- history has foreign keys: telemetry and energy outlive their jobs.

CREATE TABLE meta (
    name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sequences (
    name TEXT PRIMARY KEY, next INTEGER NOT NULL CHECK (next > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    name TEXT NOT NULL,
    owner INTEGER NOT NULL,
    user TEXT NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('training', 'inference')),
    family TEXT NOT NULL,
    model TEXT NOT NULL,
    batch INTEGER NOT NULL,
    gmac_per_sample REAL NOT NULL,
    params_millions REAL NOT NULL,
    memory_mb_per_sample REAL NOT NULL,
    need TEXT NOT NULL
        CHECK (need IN ('best_effort', 'rate', 'service', 'deadline')),
    rate REAL NOT NULL,
    latency_s REAL NOT NULL,
    deadline_s REAL NOT NULL,
    confidence REAL NOT NULL,
    submitted_s REAL NOT NULL,
    total_steps REAL NOT NULL,
    duration_s REAL NOT NULL,
    devices_wanted INTEGER NOT NULL CHECK (devices_wanted > 0),
    memory_gb REAL NOT NULL,
    priority INTEGER NOT NULL,
    types TEXT NOT NULL,
    may_share INTEGER NOT NULL CHECK (may_share IN (0, 1)),
    may_move INTEGER NOT NULL CHECK (may_move IN (0, 1)),
    directory TEXT,
    argv BLOB,  -- each word with a NUL behind it, whatever its bytes
    env BLOB,
    output TEXT,
    metrics_url TEXT,
    metrics_counter TEXT,
    progress_file TEXT,
    stop_grace_s REAL NOT NULL,
    checkpoint_signal INTEGER NOT NULL,
    key TEXT,
    digest BLOB,
    extra TEXT CHECK (extra IS NULL OR json_valid(extra)),
    state TEXT NOT NULL
        CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    held INTEGER NOT NULL CHECK (held IN (0, 1)),
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    started_s REAL,
    placed_s REAL,
    ended_s REAL,
    steps_done REAL NOT NULL,
    required_rate REAL NOT NULL,
    moves INTEGER NOT NULL,
    restarts INTEGER NOT NULL,
    exit_status INTEGER NOT NULL,
    signal INTEGER NOT NULL,
    devices TEXT NOT NULL,
    reason TEXT,
    progress_extra TEXT CHECK (progress_extra IS NULL OR json_valid(progress_extra))
) STRICT;
CREATE UNIQUE INDEX jobs_key ON jobs (user, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_user ON jobs (user, id);
CREATE INDEX jobs_name ON jobs (name, id);
CREATE INDEX jobs_state ON jobs (state, id);
CREATE INDEX jobs_ended ON jobs (ended_s) WHERE ended_s IS NOT NULL;

CREATE TABLE transitions (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs (id),
    at_s REAL NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL
        CHECK (to_state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    what TEXT NOT NULL,
    reason TEXT,
    attempt INTEGER NOT NULL,
    devices TEXT) STRICT;
CREATE INDEX transitions_job ON transitions (job, id);

CREATE TABLE decisions (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    job INTEGER NOT NULL REFERENCES jobs (id),
    at_s REAL NOT NULL,
    round INTEGER NOT NULL,
    what TEXT NOT NULL,
    devices TEXT,
    rate REAL,
    watts REAL,
    joules REAL,
    reason TEXT,
    alternatives TEXT CHECK (alternatives IS NULL OR json_valid(alternatives))
) STRICT;
CREATE INDEX decisions_job ON decisions (job, id);

CREATE TABLE quotes (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    job INTEGER REFERENCES jobs (id),
    user TEXT NOT NULL,
    at_s REAL NOT NULL,
    verdict TEXT NOT NULL,
    rate REAL,
    confidence REAL,
    joules REAL,
    joules_low REAL,
    joules_high REAL,
    start_s REAL,
    valid_until_s REAL,
    devices TEXT,
    neighbour TEXT,
    detail TEXT CHECK (detail IS NULL OR json_valid(detail))) STRICT;
CREATE INDEX quotes_job ON quotes (job, id) WHERE job IS NOT NULL;
CREATE INDEX quotes_asked ON quotes (at_s) WHERE job IS NULL;

CREATE TABLE guard_events (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs (id),
    at_s REAL NOT NULL,
    kind TEXT NOT NULL,
    promised REAL,
    measured REAL,
    window_s REAL NOT NULL,
    device TEXT,
    action TEXT NOT NULL,
    reason TEXT) STRICT;
CREATE INDEX guard_events_job ON guard_events (job, id);

CREATE TABLE events (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    at_s REAL NOT NULL,
    kind TEXT NOT NULL,
    job INTEGER,
    user TEXT,
    data TEXT NOT NULL CHECK (json_valid(data))) STRICT;

CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    device TEXT NOT NULL,
    at_s REAL NOT NULL,
    window_s REAL NOT NULL CHECK (window_s >= 0),
    rate REAL,
    watts REAL,
    steps REAL,
    source TEXT,
    confidence REAL,
    out_of_memory INTEGER NOT NULL) STRICT;
CREATE INDEX measurements_job ON measurements (job, at_s);
CREATE TABLE measurement_hours (
    job INTEGER NOT NULL,
    device TEXT NOT NULL,
    hour_s INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    window_s REAL NOT NULL,
    rated_s REAL NOT NULL,  -- of window_s, the part with a rate
    rate_sum REAL NOT NULL,  -- rate times seconds: means add up
    rate_low REAL,
    rate_high REAL,
    powered_s REAL NOT NULL,
    watts_sum REAL NOT NULL,
    steps REAL,
    out_of_memory INTEGER NOT NULL,
    PRIMARY KEY (job, hour_s, device)) STRICT, WITHOUT ROWID;
CREATE INDEX measurement_hours_age ON measurement_hours (hour_s);

CREATE TABLE power (
    id INTEGER PRIMARY KEY,
    device TEXT NOT NULL,
    at_s REAL NOT NULL,
    window_s REAL NOT NULL CHECK (window_s >= 0),
    watts REAL NOT NULL,
    joules REAL NOT NULL,
    modelled INTEGER NOT NULL) STRICT;
CREATE INDEX power_device ON power (device, at_s);
CREATE TABLE power_hours (
    device TEXT NOT NULL,
    hour_s INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    window_s REAL NOT NULL,
    watts_sum REAL NOT NULL,
    watts_high REAL NOT NULL,
    joules REAL NOT NULL,
    modelled INTEGER NOT NULL,
    PRIMARY KEY (device, hour_s)) STRICT, WITHOUT ROWID;
CREATE INDEX power_hours_age ON power_hours (hour_s);

CREATE TABLE energy (  -- span_s: 3600, and 86400 for what is old
    start_s INTEGER NOT NULL,
    span_s INTEGER NOT NULL CHECK (span_s IN (3600, 86400)),
    device TEXT NOT NULL,
    job INTEGER NOT NULL,  -- 0: nobody's
    user TEXT NOT NULL,
    joules REAL NOT NULL CHECK (joules >= 0),
    error_joules REAL NOT NULL CHECK (error_joules >= 0),
    modelled_joules REAL NOT NULL CHECK (modelled_joules >= 0),
    busy_s REAL NOT NULL CHECK (busy_s >= 0),
    saved_joules REAL NOT NULL,
    PRIMARY KEY (start_s, span_s, device, job)) STRICT, WITHOUT ROWID;
CREATE INDEX energy_job ON energy (job, start_s);
CREATE INDEX energy_span ON energy (span_s, start_s);

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    role TEXT NOT NULL CHECK (role IN ('viewer', 'user', 'operator')),
    user TEXT NOT NULL,
    uid INTEGER NOT NULL,
    gid INTEGER NOT NULL,
    note TEXT,
    created_s REAL NOT NULL,
    expires_s REAL NOT NULL,
    revoked_s REAL NOT NULL) STRICT;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at_s REAL NOT NULL,
    user TEXT,
    peer TEXT,
    action TEXT NOT NULL,
    target TEXT,
    outcome TEXT NOT NULL,
    note TEXT) STRICT;

CREATE TABLE settings (
    name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE operator_settings (
    scope TEXT NOT NULL CHECK (scope IN ('node', 'device')),
    name TEXT NOT NULL,
    drained INTEGER NOT NULL CHECK (drained IN (0, 1)),
    power TEXT NOT NULL CHECK (power IN ('auto', 'on', 'off')),
    cap_watts REAL NOT NULL CHECK (cap_watts >= 0),
    reason TEXT,
    user TEXT,
    at_s REAL NOT NULL,
    PRIMARY KEY (scope, name)) STRICT, WITHOUT ROWID;

CREATE TABLE models (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    at_s REAL NOT NULL,
    bytes INTEGER NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    whole INTEGER NOT NULL CHECK (whole IN (0, 1))) STRICT;
CREATE TABLE model_parts (
    model INTEGER NOT NULL REFERENCES models (id),
    part INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (model, part)) STRICT;
