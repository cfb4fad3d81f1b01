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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileName is the database inside the data directory.
const fileName = "localservice.db"

// suffixes are the ends of the names of the database and of what SQLite keeps beside it.
var suffixes = []string{"", "-wal", "-shm", "-journal"}

// readers is how many queries may run beside the one writer. The service is designed
// for two processors; more connections would only use more memory.
const readers = 4

// busyTimeout is how long a statement waits for another process that has the
// same file open, in milliseconds.
const busyTimeout = 5000

// DefaultLimit is how large the database of [Open] may become, in bytes.
const DefaultLimit = 8 << 30

// reserve is how much larger it may become, in bytes, by requests that delete.
const reserve = 8 << 20

// pageSize is that of the database, in bytes.
const pageSize = 4096

var (
	// ErrNotFound means that there is no such row, or that the caller's scope
	// does not reach it: callers get the same error for both.
	ErrNotFound = errors.New("not found")

	// ErrRepeated means that a turn of that id is in the thread already.
	ErrRepeated = errors.New("the turn is stored already")
)

// Store is an open database. All methods may be called from any goroutine.
type Store struct {
	observe Observer // of statements; may be nil
	// SQLite takes one writer at a time. Giving writing a pool of exactly one
	// connection queues writers in Go, where waiting honours the context,
	// instead of inside SQLite, where it ends in "database is locked".
	write *sql.DB
	read  *sql.DB
	// Every request looks whether its token was ended. That is quick, and must not wait for
	// what clients read.
	checks  *sql.DB
	secrets sync.Map // of partners, which never change, by their ids

	limit     int64         // of the database, in bytes
	newEvents chan struct{} // holds one value while there may be new events

	tempDir string // removed by Close
}

// Open is OpenWithin with the limit [DefaultLimit] and without an observer.
func Open(dir string) (*Store, error) { return OpenWithin(dir, DefaultLimit, nil) }

// OpenWithin opens the database in dir, creates the directory and the seed agents when they
// are not there yet. A file of another version is refused. With dir "" the data live in a
// temporary directory, which Close removes. The database can't become larger than limit, in
// bytes, at least 1 MiB; a larger one is opened, but does not grow. SQLite's log beside it,
// which holds what was written lately, doesn't count. observe gets the statements; it may be
// nil.
func OpenWithin(dir string, limit int64, observe Observer) (*Store, error) {
	s := &Store{limit: max(limit, 1<<20), newEvents: make(chan struct{}, 1), observe: observe}
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
	if s.write, err = openPool(s.observe, path, 1, "synchronous("+synchronous+")", fmt.Sprintf("page_size(%d)", pageSize), fmt.Sprintf("max_page_count(%d)", s.limit/pageSize)); err != nil {
		return err
	}
	ctx := context.Background()
	if err := s.create(ctx); err != nil {
		return err
	}
	if s.read, err = openPool(s.observe, path, readers, "query_only(1)"); err != nil {
		return err
	}
	if s.checks, err = openPool(s.observe, path, 1, "query_only(1)"); err != nil {
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
	for _, suffix := range suffixes { // an older version created them with the mode of the umask
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func openPool(observe Observer, path string, size int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{
		"_pragma": append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout), "journal_mode(WAL)", "foreign_keys(1)"),
		// A transaction that reads first and writes later must not find, on its
		// first write, that another one wrote in between.
		"_txlock": {"immediate"},
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(keeping{connector, observe})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// Close ends the store. It waits for statements that are running.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.checks, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.tempDir != "" {
		errs = append(errs, removeData(s.tempDir))
	}
	return errors.Join(errs...)
}

// removeData removes a data directory. Unlike os.RemoveAll it opens no directory: a start may
// have failed because the process can't open more files, and must still leave nothing.
func removeData(dir string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(filepath.Join(dir, fileName+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Remove(dir)
}

// tx runs f in a transaction of the writer.
func (s *Store) tx(ctx context.Context, f func(*sql.Tx) error) error {
	return transact(ctx, s.write, f)
}

// transact runs f in a transaction on the pool of the writer or on its connection.
func transact(ctx context.Context, db interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}, f func(*sql.Tx) error,
) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// removing is tx for what makes room: it may use the reserve, because SQLite also writes when
// it deletes, for example into the index of a text, some of it when the transaction ends.
func (s *Store) removing(ctx context.Context, f func(*sql.Tx) error) (err error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, maxPages(s.limit+reserve)); err != nil {
		return err
	}
	defer func() {
		_, lowered := conn.ExecContext(context.WithoutCancel(ctx), maxPages(s.limit)) // the connection is used again
		err = errors.Join(err, lowered)
	}()
	return transact(ctx, conn, f)
}

// maxPages is the statement that bounds the size of the database, in bytes; one that is
// larger stays so.
func maxPages(size int64) string { return fmt.Sprintf("PRAGMA max_page_count(%d)", size/pageSize) }

// IsFull reports whether an error means that the database has reached its limit, or that
// the disk is full. What is stored can be read and deleted then, which makes room.
func IsFull(err error) bool {
	var refused *sqlite.Error
	return errors.As(err, &refused) && refused.Code() == sqlite3.SQLITE_FULL
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

// now is the time as it is kept.
func now() time.Time { return fromMillis(millis(time.Now())) }
