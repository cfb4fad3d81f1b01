-- What a partner makes: agents, avatars, intellects, tools and so on, one row each.
-- seq counts all of them, in the order in which they were made; of a kind whose ids
-- are numbers, it is the id too. A record of partner 0 is shared by all partners.
CREATE TABLE objects (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL,
  partner_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  name       TEXT, -- unique among those of its kind and partner; NULL is no name
  request    TEXT, -- the idempotency key of the request that made it; NULL is none
  body       TEXT NOT NULL, -- JSON object
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (kind, partner_id, id)
) STRICT;
CREATE UNIQUE INDEX objects_by_name ON objects (kind, partner_id, name) WHERE name IS NOT NULL;
CREATE UNIQUE INDEX objects_by_request ON objects (kind, partner_id, request) WHERE request IS NOT NULL;
CREATE UNIQUE INDEX objects_in_order ON objects (kind, partner_id, seq);
CREATE UNIQUE INDEX agents_by_widget ON objects (json_extract(body, '$.widgetId')) WHERE kind = 'agent';
CREATE INDEX agents_by_intellect ON objects (partner_id, json_extract(body, '$.intellectId')) WHERE kind = 'agent';
-- The ids of intellects were 1001 and up before.
INSERT INTO sqlite_sequence (name, seq) SELECT 'objects', max(1000, coalesce(max(config_id), 0)) FROM agents;
-- The idempotency keys of requests that have deleted something, for a day.
CREATE TABLE deletions (
  kind       TEXT NOT NULL,
  partner_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  request    TEXT NOT NULL,
  deleted_at INTEGER NOT NULL,
  PRIMARY KEY (kind, partner_id, id, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX deletions_by_age ON deletions (deleted_at);
-- The files of catalog items.
CREATE TABLE assets (
  id   TEXT PRIMARY KEY,
  type TEXT NOT NULL, -- media type
  data BLOB NOT NULL
) STRICT;
