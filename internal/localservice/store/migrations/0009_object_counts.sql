-- How many objects a partner has of each kind: counting 100,000 for each page of a list
-- takes longer than the page.
CREATE TABLE object_counts (
  kind       TEXT NOT NULL,
  partner_id INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (kind, partner_id)
) STRICT, WITHOUT ROWID;
INSERT INTO object_counts SELECT kind, partner_id, count(*) FROM objects GROUP BY kind, partner_id;
CREATE TRIGGER objects_added AFTER INSERT ON objects BEGIN
  INSERT INTO object_counts VALUES (new.kind, new.partner_id, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER objects_removed AFTER DELETE ON objects BEGIN
  UPDATE object_counts SET count = count - 1 WHERE kind = old.kind AND partner_id = old.partner_id;
END;
