package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// fileName is the database inside the data directory.
const fileName = "localservice.db"

// readers is how many queries may run beside the one writer. The service is designed
// for two processors; more connections would only use more memory.
const readers = 4

// busyTimeout is how long a statement waits for another process that has the
// same file open, in milliseconds.
const busyTimeout = 5000

var (
	// ErrNotFound means that there is no such row, or that the caller's scope
	// does not reach it: callers get the same error for both.
	ErrNotFound = errors.New("not found")

	// ErrRepeated means that a turn of that id is in the thread already.
	ErrRepeated = errors.New("the turn is stored already")
)

// Store is an open database. All methods may be called from any goroutine.
type Store struct {
	// SQLite takes one writer at a time. Giving writing a pool of exactly one
	// connection queues writers in Go, where waiting honours the context,
	// instead of inside SQLite, where it ends in "database is locked".
	write *sql.DB
	read  *sql.DB
	// Every request looks whether its token was ended. That is quick, and must not wait for
	// what clients read.
	checks  *sql.DB
	ended   *sql.Stmt
	secrets sync.Map // of partners, which never change, by their ids

	newEvents chan struct{} // holds one value while there may be new events

	tempDir string // removed by Close
}

// Open opens the database in dir, creates the directory and the seed agents when
// they are not there yet, and brings an older file up to date. With dir "" the
// data live in a temporary directory, which Close removes.
func Open(dir string) (*Store, error) {
	s := &Store{newEvents: make(chan struct{}, 1)}
	// A commit is on the disk before it is acknowledged: FULL also survives a
	// power cut. Data that Close deletes anyway need not wait for the disk.
	synchronous := "FULL"
	if dir == "" {
		tempDir, err := os.MkdirTemp("", "localservice-")
		if err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		s.tempDir, dir, synchronous = tempDir, tempDir, "OFF"
	}
	if err := s.open(dir, synchronous); err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), s.Close())
	}
	return s, nil
}

func (s *Store) open(dir, synchronous string) error {
	// The file holds the partner's secret: only its owner may read it.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, fileName)
	if err := private(path); err != nil {
		return err
	}
	var err error
	if s.write, err = openPool(path, 1, "synchronous("+synchronous+")"); err != nil {
		return err
	}
	ctx := context.Background()
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if s.read, err = openPool(path, readers, "query_only(1)"); err != nil {
		return err
	}
	if s.checks, err = openPool(path, 1, "query_only(1)"); err != nil {
		return err
	}
	if s.ended, err = s.checks.PrepareContext(ctx, `SELECT EXISTS (SELECT 1 FROM revoked WHERE partner_id = ? AND
		((kind = 'token' AND id = ?) OR (kind = 'group' AND id = ?)))`); err != nil {
		return err
	}
	return s.seed(ctx)
}

// private makes sure that the database exists and that only its owner can read it
// and what SQLite keeps beside it, whatever the directory and the umask are. New
// files beside it get the mode of the database.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} { // an older version created them with the mode of the umask
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func openPool(path string, size int, pragma string) (*sql.DB, error) {
	query := url.Values{
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout),
			"journal_mode(WAL)", "foreign_keys(1)", pragma,
		},
		// A transaction that reads first and writes later must not find, on its
		// first write, that another one wrote in between.
		"_txlock": {"immediate"},
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// Close ends the store. It waits for statements that are running.
func (s *Store) Close() error {
	var errs []error
	if s.ended != nil {
		errs = append(errs, s.ended.Close())
	}
	for _, db := range []*sql.DB{s.read, s.checks, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.tempDir != "" {
		errs = append(errs, os.RemoveAll(s.tempDir))
	}
	return errors.Join(errs...)
}

// tx runs f in a transaction of the writer.
func (s *Store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// querier is what sql.DB and sql.Tx have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is what sql.Row and sql.Rows have in common.
type scanner interface{ Scan(dest ...any) error }

// one reads a single row; no row is ErrNotFound.
func one[T any](row *sql.Row, scan func(scanner) (T, error)) (T, error) {
	v, err := scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return v, err
}

// all reads every row.
func all[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{} // an empty list is [] in JSON, not null
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Times are kept as milliseconds since 1970, which sort and compare as numbers.
func millis(t time.Time) int64      { return t.UnixMilli() }
func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
