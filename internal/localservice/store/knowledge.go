package store

import (
	"context"
	"database/sql"
	"strings"
	"unicode"
)

// maxQueryWords bounds what a question can ask of the index; more words than a
// long sentence has don't make a better hit.
const maxQueryWords = 32

// SetKnowledge replaces everything that agents can answer from.
func (s *Store) SetKnowledge(ctx context.Context, passages []Passage) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM knowledge`); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO knowledge (title, heading, body, source) VALUES (?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, p := range passages {
			if _, err := insert.ExecContext(ctx, p.Title, p.Heading, p.Body, p.Source); err != nil {
				return err
			}
		}
		return nil
	})
}

// SearchKnowledge returns the passages that fit the words best, best first. A
// passage must contain at least one of them.
func (s *Store) SearchKnowledge(ctx context.Context, words string, limit int) ([]Passage, error) {
	match := matchAny(words)
	if match == "" {
		return []Passage{}, nil
	}
	scan := func(row scanner) (p Passage, err error) {
		err = row.Scan(&p.Title, &p.Heading, &p.Body, &p.Source)
		return p, err
	}
	// A hit in a heading says more about the passage than one in its text.
	return all(ctx, s.read, scan,
		`SELECT title, heading, body, source FROM knowledge WHERE knowledge MATCH ?
		 ORDER BY bm25(knowledge, 2.0, 6.0, 1.0), rowid LIMIT ?`, match, limit)
}

// matchAny turns free text into an FTS5 expression. Every word is quoted, so
// that nothing a user types is read as FTS5 syntax.
func matchAny(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) > maxQueryWords {
		words = words[:maxQueryWords]
	}
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	return strings.Join(words, " OR ")
}
