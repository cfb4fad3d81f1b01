package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"modernc.org/sqlite"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// counting counts the statements that a connection prepares.
type counting struct {
	driver.Connector
	prepared *int
}

type countingConn struct {
	sqliteConn
	prepared *int
}

func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return countingConn{inner.(sqliteConn), c.prepared}, nil
}

func (c countingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	*c.prepared++
	return c.sqliteConn.PrepareContext(ctx, text)
}

// openCounting opens one connection to a database in memory with a table of numbers.
func openCounting(t *testing.T) (db *sql.DB, prepared *int) {
	t.Helper()
	connector := must.Get(sqlite.NewConnector("file::memory:"))(t)
	prepared = new(int)
	db = sql.OpenDB(keeping{Connector: counting{connector, prepared}})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	must.Get(db.Exec("CREATE TABLE n (i INTEGER); CREATE TABLE m (i INTEGER)"))(t)
	return db, prepared
}

// TestAQueryWithinItsOwnRows needs a second statement of the same text.
func TestAQueryWithinItsOwnRows(t *testing.T) {
	db, prepared := openCounting(t)
	tx := must.Get(db.Begin())(t)
	defer tx.Rollback() //nolint:errcheck // the database ends with the test
	for i := range 3 {
		must.Get(tx.Exec("INSERT INTO n VALUES (?)", i))(t)
	}
	const above = "SELECT i FROM n WHERE i >= ? ORDER BY i"
	numbers := func(from int, each func(int)) {
		rows := must.Get(tx.Query(above, from))(t)
		defer rows.Close()
		for rows.Next() {
			var i int
			must.Do(t, rows.Scan(&i))
			each(i)
		}
	}
	var pairs string
	numbers(0, func(i int) { numbers(i, func(j int) { pairs += fmt.Sprint(i, j, " ") }) })
	if want := "0 0 0 1 0 2 1 1 1 2 2 2 "; pairs != want {
		t.Errorf("%q, want %q", pairs, want)
	}
	if *prepared != 3 { // INSERT, and SELECT twice
		t.Errorf("prepared %d statements, want 3", *prepared)
	}
}

// TestAFailedStatementIsUsedAgain with other values.
func TestAFailedStatementIsUsedAgain(t *testing.T) {
	db, prepared := openCounting(t)
	must.Get(db.Exec("CREATE UNIQUE INDEX one ON n (i)"))(t)
	*prepared = 0
	for i, wanted := range []bool{true, false, true} {
		if _, err := db.Exec("INSERT INTO n VALUES (?)", i-i%2); (err == nil) != wanted {
			t.Errorf("%d: %v", i, err)
		}
	}
	expect.Equal(t, *prepared, 1, "prepared statements")
}

// TestKeptStatementsAreBounded: a filter may have any number of forms.
func TestKeptStatementsAreBounded(t *testing.T) {
	db, _ := openCounting(t)
	for i := range 2 * maxKept {
		must.Get(db.Exec(fmt.Sprintf("INSERT INTO n VALUES (? + %d)", i), 1))(t)
	}
	c := must.Get(db.Conn(t.Context()))(t)
	defer c.Close()
	must.Do(t, c.Raw(func(raw any) error {
		expect.Equal(t, len(raw.(*conn).idle), maxKept, "keeps statements")
		return nil
	}))
}

// BenchmarkTurn is what a turn in text asks of the database.
func BenchmarkTurn(b *testing.B) {
	s := must.Get(Open(""))(b)
	defer s.Close()
	var partner int64
	must.Do(b, s.read.QueryRow("SELECT id FROM partners").Scan(&partner))
	scope := Scope{PartnerID: partner, TokenID: "token"}
	thread := &Thread{ID: "thread", PartnerID: partner, TokenID: "token"}
	must.Do(b, s.CreateThread(b.Context(), thread))
	parts := []Part{{Type: "text", Content: []byte(`"What is a thread?"`)}}
	for i := 0; b.Loop(); i++ {
		question := &Message{ID: fmt.Sprint("q", i), ThreadID: thread.ID, Role: Human, Parts: parts}
		answer := &Message{ID: fmt.Sprint("a", i), ThreadID: thread.ID, Role: AI, ReplyTo: question.ID, Parts: parts}
		_, revoked := s.Revoked(b.Context(), partner, "token", "")
		_, opened := s.Thread(b.Context(), scope, thread.ID)
		_, history := s.History(b.Context(), thread.ID, 20)
		_, state := s.ThreadState(b.Context(), thread.ID)
		asked := s.AddQuestion(b.Context(), question, nil, "")
		answered := s.AddMessage(b.Context(), answer)
		must.Do(b, errors.Join(revoked, opened, history, state, asked, answered))
	}
}

// BenchmarkAgent reads an agent with its avatar, as each turn does.
func BenchmarkAgent(b *testing.B) {
	s := must.Get(Open(""))(b)
	defer s.Close()
	var partner int64
	var id string
	must.Do(b, s.read.QueryRow("SELECT partner_id, id FROM objects WHERE kind = 'agent' ORDER BY seq").Scan(&partner, &id))
	for b.Loop() {
		must.Get(s.Agent(b.Context(), partner, id))(b)
	}
}
