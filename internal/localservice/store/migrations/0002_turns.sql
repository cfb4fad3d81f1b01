-- The ids that clients give to their typed turns: one that is sent again is stored
-- once. An id goes with its message.
CREATE TABLE client_turns (
  thread_id  TEXT NOT NULL,
  id         TEXT NOT NULL,
  message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  PRIMARY KEY (thread_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX client_turns_of_message ON client_turns (message_id);
