package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Migrations are applied in the order of their numbers and never edited once
// they have been released; user_version of the file is the number of the last.
//
//go:embed migrations/*.sql
var migrations embed.FS

// errNewer refuses a file that a later version of the program has written.
var errNewer = errors.New("the data was written by a newer version of localservice; use that version or another data directory")

// goSteps are the parts of migrations, by number, that SQL can't express. They run
// after the SQL, in the same transaction.
func (s *Store) goSteps() map[int]func(context.Context, *sql.Tx) error {
	return map[int]func(context.Context, *sql.Tx) error{5: s.splitAgents}
}

func (s *Store) migrate(ctx context.Context) error {
	db := s.write
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name
	if err != nil {
		return err
	}
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(names) {
		return errNewer
	}
	for i, name := range names {
		digits, _, _ := strings.Cut(path.Base(name), "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number != i+1 {
			return fmt.Errorf("migration %s: want number %d", name, i+1)
		}
		if number <= have {
			continue
		}
		if err := apply(ctx, db, name, number, s.goSteps()[number]); err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
	}
	return nil
}

func apply(ctx context.Context, db *sql.DB, name string, number int, goStep func(context.Context, *sql.Tx) error) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if goStep != nil {
		if err := goStep(ctx, tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	// user_version lives in the file's header and takes part in the transaction;
	// a PRAGMA takes no parameters.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", number)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
