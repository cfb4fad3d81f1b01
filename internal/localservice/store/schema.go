package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
)

//go:embed schema.sql
var schema string

// schemaVersion is the user_version of files with this schema. A change of the schema
// raises it.
const schemaVersion = 12

// errOther refuses a file that another version of the program has written.
var errOther = errors.New("the data was written by another version of localservice; use that version or another data directory")

// create makes the tables in a new file.
func (s *Store) create(ctx context.Context) error {
	var have int
	if err := s.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch have {
	case schemaVersion:
		return nil
	case 0:
	default:
		return errOther
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		// user_version is stored in the file's header and takes part in the transaction;
		// a PRAGMA takes no parameters.
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
		return err
	})
}
