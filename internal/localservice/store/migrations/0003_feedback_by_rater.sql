-- A shared copy can be rated by everybody who reads it, each for themselves.
CREATE TABLE feedback_by_rater (
  message_id  TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  rater       TEXT NOT NULL, -- of a shared copy: the user or the token; '' in a thread
  user_id     TEXT NOT NULL,
  is_positive INTEGER NOT NULL,
  comment     TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (message_id, rater)
) STRICT, WITHOUT ROWID;
INSERT INTO feedback_by_rater
  SELECT feedback.message_id, iif(messages.thread_id IS NULL, 'user:' || feedback.user_id, ''), feedback.user_id,
    feedback.is_positive, feedback.comment, feedback.created_at, feedback.updated_at
  FROM feedback JOIN messages ON messages.id = feedback.message_id;
DROP TABLE feedback;
ALTER TABLE feedback_by_rater RENAME TO feedback;
