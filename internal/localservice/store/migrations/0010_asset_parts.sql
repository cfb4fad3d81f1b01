-- Files are stored in parts of 256 KiB, because SQLite reads a value as a whole: a reader of a file
-- then needs the memory of one part.
CREATE TABLE asset_parts (
  asset_id TEXT NOT NULL REFERENCES assets (id) ON DELETE CASCADE,
  number   INTEGER NOT NULL, -- from 0
  data     BLOB NOT NULL,
  PRIMARY KEY (asset_id, number)
) STRICT;
ALTER TABLE assets ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
UPDATE assets SET size = length(data);
INSERT INTO asset_parts (asset_id, number, data)
WITH RECURSIVE parts (id, number, size) AS (
  SELECT id, 0, size FROM assets WHERE size > 0
  UNION ALL
  SELECT id, number + 1, size FROM parts WHERE (number + 1) * 262144 < size
)
SELECT parts.id, parts.number, substr(assets.data, parts.number * 262144 + 1, 262144)
FROM parts JOIN assets ON assets.id = parts.id;
ALTER TABLE assets DROP COLUMN data;
