-- 1 while an answer is being given. It stays 1 when the service ends in the middle.
ALTER TABLE messages ADD COLUMN unfinished INTEGER NOT NULL DEFAULT 0;
