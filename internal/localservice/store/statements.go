package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// maxKept is how many prepared statements a connection keeps: more than the store has. Filters
// of lists have any number of forms, of which only the first are kept.
const maxKept = 256

// keeping makes connections that keep their prepared statements, because otherwise SQLite
// parses and plans the same text for each request. database/sql uses them in transactions and
// outside of them, as it does the text of a query.
type keeping struct {
	driver.Connector
	observe Observer
}

// Observer is called for each statement with its first word, such as SELECT, its time without the reading of
// rows, and its error.
type Observer func(word string, took time.Duration, err error)

// since reports a statement that began then.
func (o Observer) since(began time.Time, text string, err error) {
	if o != nil {
		word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		o(strings.ToUpper(strings.TrimSpace(word)), time.Since(began), err)
	}
}

// sqliteConn is what database/sql uses of a connection of the driver.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// statement is what a prepared statement of the driver has.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Connect implements [driver.Connector].
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{sqliteConn: c.(sqliteConn), idle: map[string]statement{}, observe: k.observe}, nil
}

// conn is a connection. database/sql calls its methods one at a time.
type conn struct {
	sqliteConn
	idle map[string]statement // by their texts

	observe Observer
}

// take returns a statement that is not in use.
func (c *conn) take(ctx context.Context, text string) (statement, error) {
	if s, ok := c.idle[text]; ok {
		delete(c.idle, text)
		return s, nil
	}
	s, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.(statement), nil
}

// give keeps a statement for the next use of its text.
func (c *conn) give(text string, s statement) error {
	if _, kept := c.idle[text]; kept || len(c.idle) >= maxKept {
		return s.Close()
	}
	c.idle[text] = s
	return nil
}

// once reports whether a text is not worth keeping, or must not be kept: SQLite applies some of
// its settings when it parses them, and scripts have several statements.
func once(text string, args []driver.NamedValue) bool {
	return strings.HasPrefix(text, "PRAGMA") || len(args) == 0 && strings.Contains(text, ";")
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if once(text, args) {
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	result, err := s.ExecContext(ctx, args)
	c.observe.since(began, text, err)
	return result, errors.Join(err, c.give(text, s))
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if once(text, args) {
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	rows, err := s.QueryContext(ctx, args)
	c.observe.since(began, text, err)
	if err != nil {
		return nil, errors.Join(err, c.give(text, s))
	}
	return &keptRows{Rows: rows, done: func() error { return c.give(text, s) }}, nil
}

// Close implements [driver.Conn].
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.idle {
		errs = append(errs, s.Close())
	}
	clear(c.idle)
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// keptRows give their statement back when they are closed.
type keptRows struct {
	driver.Rows
	done func() error
}

// Close implements [driver.Rows].
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	if r.done != nil {
		err = errors.Join(err, r.done())
		r.done = nil
	}
	return err
}
