CREATE TABLE partners (
  id     INTEGER PRIMARY KEY,
  secret TEXT NOT NULL
) STRICT;

CREATE TABLE threads (
  id         TEXT PRIMARY KEY,
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  user_id    TEXT NOT NULL,
  token_id   TEXT NOT NULL, -- tells anonymous owners apart
  agent_id   TEXT NOT NULL,
  config_id  INTEGER NOT NULL,
  title      TEXT NOT NULL,
  status     TEXT NOT NULL,
  context_id TEXT NOT NULL,
  vars       TEXT NOT NULL, -- JSON object
  analysis   TEXT NOT NULL, -- JSON object
  created_at INTEGER NOT NULL, -- milliseconds since 1970, as all times here
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  -- What became of the conversation after its end: its summary and what insights found.
  outcome    TEXT NOT NULL DEFAULT '{}', -- JSON object
  -- What the service keeps for the thread's agent.
  state      TEXT NOT NULL DEFAULT '{}', -- JSON object
  -- Of a thread that a widget's token has begun. Only that token gives access to it, while other
  -- anonymous threads can be reached by their id with any anonymous token.
  widget     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX threads_of_user ON threads (partner_id, user_id, updated_at);

-- seq is the order of a conversation: two messages may share a millisecond.
CREATE TABLE messages (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  thread_id   TEXT REFERENCES threads (id), -- NULL for a shared copy
  partner_id  INTEGER NOT NULL REFERENCES partners (id),
  user_id     TEXT NOT NULL,
  config_id   INTEGER NOT NULL,
  role        TEXT NOT NULL, -- human, ai, opening
  reply_to    TEXT NOT NULL, -- id of the human message that an answer belongs to
  title       TEXT NOT NULL, -- of a shared copy
  parts       TEXT NOT NULL, -- JSON array
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  unfinished  INTEGER NOT NULL DEFAULT 0, -- 1 while an answer is being given, also after the service ended in the middle
  shared_from TEXT NOT NULL DEFAULT '' -- the thread that the original of a shared copy is in
) STRICT;
CREATE INDEX messages_of_thread ON messages (thread_id, seq);

-- The ids that clients give to their typed turns: one that is sent again is stored
-- once. An id goes with its message.
CREATE TABLE client_turns (
  thread_id  TEXT NOT NULL,
  id         TEXT NOT NULL,
  message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  PRIMARY KEY (thread_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX client_turns_of_message ON client_turns (message_id);

-- A shared copy can be rated by everybody who reads it, each for themselves.
CREATE TABLE feedback (
  message_id  TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  rater       TEXT NOT NULL, -- of a shared copy: the user or the token; '' in a thread
  user_id     TEXT NOT NULL,
  is_positive INTEGER NOT NULL,
  comment     TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (message_id, rater)
) STRICT, WITHOUT ROWID;

-- The follow-up questions that answers have offered.
CREATE TABLE followups (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  question   TEXT NOT NULL,
  UNIQUE (message_id, question)
) STRICT;

CREATE TABLE completed_sessions (
  thread_id    TEXT PRIMARY KEY REFERENCES threads (id),
  completed_at INTEGER NOT NULL
) STRICT;

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

-- Ended tokens, and groups of tokens, until they would have expired anyway.
CREATE TABLE revoked (
  partner_id INTEGER NOT NULL,
  kind       TEXT NOT NULL, -- token, group
  id         TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (partner_id, kind, id)
) STRICT, WITHOUT ROWID;

-- How often a token with an actions limit has been used.
CREATE TABLE token_actions (
  partner_id INTEGER NOT NULL,
  token_id   TEXT NOT NULL,
  used       INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (partner_id, token_id)
) STRICT, WITHOUT ROWID;

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
CREATE INDEX agents_by_intellect ON objects (partner_id, json_extract(body, '$.intellect.id')) WHERE kind = 'agent';
INSERT INTO sqlite_sequence (name, seq) VALUES ('objects', 1000); -- the ids of intellects are 1001 and up

-- How many objects a partner has of each kind: counting 100,000 for each page of a list
-- takes longer than the page.
CREATE TABLE object_counts (
  kind       TEXT NOT NULL,
  partner_id INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (kind, partner_id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER objects_added AFTER INSERT ON objects BEGIN
  INSERT INTO object_counts VALUES (new.kind, new.partner_id, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER objects_removed AFTER DELETE ON objects BEGIN
  UPDATE object_counts SET count = count - 1 WHERE kind = old.kind AND partner_id = old.partner_id;
END;

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

-- The files of catalog items. They are stored in parts of 256 KiB, because SQLite reads a value as a
-- whole: a reader of a file then needs the memory of one part.
CREATE TABLE assets (
  id   TEXT PRIMARY KEY,
  type TEXT NOT NULL, -- media type
  size INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE asset_parts (
  asset_id TEXT NOT NULL REFERENCES assets (id) ON DELETE CASCADE,
  number   INTEGER NOT NULL, -- from 0
  data     BLOB NOT NULL,
  PRIMARY KEY (asset_id, number)
) STRICT;

-- The text of knowledge records, cut into passages.
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
