-- What the service keeps for a thread's agent: a JSON object.
ALTER TABLE threads ADD COLUMN state TEXT NOT NULL DEFAULT '{}';
