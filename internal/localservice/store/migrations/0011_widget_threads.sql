-- Threads that a widget's token has begun. Only that token gives access to them, while other anonymous
-- threads can be reached by their id with any anonymous token. It is not known of older threads.
ALTER TABLE threads ADD COLUMN widget INTEGER NOT NULL DEFAULT 0;
