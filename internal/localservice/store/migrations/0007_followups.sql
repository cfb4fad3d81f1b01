-- The follow-up questions that answers have offered.
CREATE TABLE followups (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  question   TEXT NOT NULL,
  UNIQUE (message_id, question)
) STRICT;
