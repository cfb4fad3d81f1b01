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

-- The text of knowledge records, cut into passages.
DROP TABLE knowledge;
CREATE VIRTUAL TABLE passages USING fts5 (
  title, heading, body, source UNINDEXED, record UNINDEXED, entry UNINDEXED, line UNINDEXED,
  tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER knowledge_deleted AFTER DELETE ON objects WHEN old.kind = 'knowledge' BEGIN
  DELETE FROM passages WHERE record = CAST(old.id AS INTEGER);
END;
-- The service's own documents are a record that all partners may use.
INSERT INTO objects (kind, partner_id, id, body, created_at, updated_at) VALUES ('knowledge', 0, '0',
  '{"name":"Documents of the service","description":"","config":{"sources":[{"type":"folder","name":"documents","content":"","entry_id":"documents","indexers":[{"type":"fulltext","index_position":true}]}]}}',
  0, 0);
