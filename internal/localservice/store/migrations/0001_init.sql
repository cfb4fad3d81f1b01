CREATE TABLE partners (
  id     INTEGER PRIMARY KEY,
  secret TEXT NOT NULL
) STRICT;

CREATE TABLE agents (
  id         TEXT PRIMARY KEY,
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  name       TEXT NOT NULL,
  config_id  INTEGER NOT NULL,
  widget_id  TEXT NOT NULL UNIQUE,
  profile    TEXT NOT NULL, -- JSON
  UNIQUE (partner_id, name),
  UNIQUE (partner_id, config_id)
) STRICT;

CREATE TABLE threads (
  id           TEXT PRIMARY KEY,
  partner_id   INTEGER NOT NULL REFERENCES partners (id),
  user_id      TEXT NOT NULL,
  token_id     TEXT NOT NULL, -- tells anonymous owners apart
  agent_id     TEXT NOT NULL,
  config_id    INTEGER NOT NULL,
  title        TEXT NOT NULL,
  status       TEXT NOT NULL,
  context_id   TEXT NOT NULL,
  vars         TEXT NOT NULL, -- JSON object
  analysis     TEXT NOT NULL, -- JSON object
  created_at   INTEGER NOT NULL, -- milliseconds since 1970, as all times here
  updated_at   INTEGER NOT NULL,
  deleted_at   INTEGER
) STRICT;
CREATE INDEX threads_of_user ON threads (partner_id, user_id, updated_at);

-- seq is the order of a conversation: two messages may share a millisecond.
CREATE TABLE messages (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  thread_id  TEXT REFERENCES threads (id), -- NULL for a shared copy
  partner_id INTEGER NOT NULL REFERENCES partners (id),
  user_id    TEXT NOT NULL,
  config_id  INTEGER NOT NULL,
  role       TEXT NOT NULL, -- human, ai, opening
  reply_to   TEXT NOT NULL, -- id of the human message that an answer belongs to
  title      TEXT NOT NULL, -- of a shared copy
  parts      TEXT NOT NULL, -- JSON array
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_thread ON messages (thread_id, seq);

CREATE TABLE feedback (
  message_id  TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
  user_id     TEXT NOT NULL,
  is_positive INTEGER NOT NULL,
  comment     TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE completed_sessions (
  thread_id    TEXT PRIMARY KEY REFERENCES threads (id),
  completed_at INTEGER NOT NULL
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

CREATE VIRTUAL TABLE knowledge USING fts5 (
  title, heading, body, source UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2'
);
