-- What became of a conversation after its end: its summary and what insights found.
ALTER TABLE threads ADD COLUMN outcome TEXT NOT NULL DEFAULT '{}'; -- JSON object

-- Events of threads that rules have still to see. A row is written with what it tells
-- of, and deleted once every rule has run, so that none is lost.
CREATE TABLE thread_events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  partner_id INTEGER NOT NULL,
  thread_id  TEXT NOT NULL REFERENCES threads (id),
  type       TEXT NOT NULL,
  keys       TEXT NOT NULL, -- JSON array: of the analysis, those with a new value
  depth      INTEGER NOT NULL -- how many events led to this one
) STRICT;
