-- The thread that the original of a shared message is in. It is not known of older copies.
ALTER TABLE messages ADD COLUMN shared_from TEXT NOT NULL DEFAULT '';
