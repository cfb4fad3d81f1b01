package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxQueryWords is how many words of a query are searched for; more words than a long
// sentence has don't improve the result.
const maxQueryWords = 32

// DocumentsID is the record of the service's own documents, which is shared. The ids of
// other records are above 1000.
const DocumentsID = 0

// Knowledge is a record of texts that agents answer from. Its JSON is that of the API.
type Knowledge struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Tags        []string        `json:"tags"`
	UserID      string          `json:"user_id"` // of the token that made it
	Config      KnowledgeConfig `json:"config"`

	// Passages are the pieces into which the sources were split. They are stored in the
	// index, not in the record; nil keeps the stored ones.
	Passages []Passage `json:"-"`
}

// KnowledgeConfig is what a [Knowledge] is made of.
type KnowledgeConfig struct {
	Sources []Source `json:"sources"`
}

// Source is one text of a [Knowledge].
type Source struct {
	Type     string    `json:"type"` // TextSource or MarkdownSource
	Name     string    `json:"name"`
	Content  string    `json:"content"`
	EntryID  string    `json:"entry_id"` // given by the service
	Indexers []Indexer `json:"indexers"` // set by the service
}

// Types of a [Source].
const (
	TextSource     = "text"
	MarkdownSource = "markdown"
)

// Indexer is the state of a source in an index.
type Indexer struct {
	Type          string `json:"type"`
	IndexPosition bool   `json:"index_position,omitempty"` // set when the source is indexed
}

// Indexed is the indexer of a source whose passages are stored.
func Indexed() []Indexer { return []Indexer{{"fulltext", true}} }

// KnowledgeRecords is the collection of texts to answer from. Storing a record with passages
// replaces its stored passages; deleting a record deletes them.
func KnowledgeRecords(s *Store) Collection[Knowledge] {
	c := Collection[Knowledge]{store: s, kind: KnowledgeKind}
	c.namedBy = []idList{{IntellectKind, "knowledge_ids"}}
	c.kept = func(ctx context.Context, tx *sql.Tx, r *Record[Knowledge]) error {
		if r.Body.Passages == nil {
			return nil
		}
		return setPassages(ctx, tx, r.Number(), r.Body.Passages)
	}
	return c
}

// SetDocuments replaces the service's own documents.
func (s *Store) SetDocuments(ctx context.Context, passages []Passage) error {
	return s.tx(ctx, func(tx *sql.Tx) error { return setPassages(ctx, tx, DocumentsID, passages) })
}

// usableKnowledge returns the ids of the records that the partner may use, and of the
// categories.
func (s *Store) usableKnowledge(ctx context.Context, partnerID int64, ids []int64, categories []string) ([]int64, error) {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatInt(id, 10)
	}
	found, err := KnowledgeRecords(s).Usable(ctx, partnerID, list)
	if err != nil {
		return nil, err
	}
	usable := make([]int64, len(found))
	for i, r := range found {
		usable[i] = r.Number()
	}
	within, err := s.Within(ctx, partnerID, categories)
	for _, id := range within {
		n, _ := strconv.ParseInt(id, 10, 64) // such ids come from the store
		usable = append(usable, n)
	}
	return usable, err
}

// setPassages replaces the passages of a record.
func setPassages(ctx context.Context, tx *sql.Tx, record int64, passages []Passage) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM passages WHERE record = ?`, record); err != nil {
		return err
	}
	return addPassages(ctx, tx, record, passages)
}

// addPassages adds passages to a record, or to a category.
func addPassages(ctx context.Context, tx *sql.Tx, record int64, passages []Passage) error {
	insert, err := tx.PrepareContext(ctx,
		`INSERT INTO passages (title, heading, body, source, record, entry, line) VALUES (?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, p := range passages {
		if _, err := insert.ExecContext(ctx, p.Title, p.Heading, p.Body, p.Source, record, p.EntryID, p.Line); err != nil {
			return err
		}
	}
	return nil
}

// SearchKnowledge returns the passages of the given records that match the words best, best
// first. A passage must contain at least one of the words.
func (s *Store) SearchKnowledge(ctx context.Context, records []int64, words string, limit int) ([]Passage, error) {
	return s.search(ctx, `SELECT value FROM json_each(?)`, jsonList(records), words, limit)
}

// SearchPartner is [Store.SearchKnowledge] in all records and categories of a partner.
func (s *Store) SearchPartner(ctx context.Context, partnerID int64, words string, limit int) ([]Passage, error) {
	return s.search(ctx, `SELECT CAST(id AS INTEGER) FROM objects WHERE kind IN ('knowledge', 'category') AND partner_id = ?`, partnerID, words, limit)
}

// KnowledgeStats are figures of what agents can answer from. Its JSON is that of the API.
type KnowledgeStats struct {
	Records    int `json:"records"`
	Categories int `json:"categories"`
	Entries    int `json:"entries"`  // documents of categories
	Passages   int `json:"passages"` // in the index
}

// KnowledgeStats counts what a partner has of its own.
func (s *Store) KnowledgeStats(ctx context.Context, partnerID int64) (k KnowledgeStats, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT
		coalesce((SELECT count FROM object_counts WHERE kind = 'knowledge' AND partner_id = ?1), 0),
		coalesce((SELECT count FROM object_counts WHERE kind = 'category' AND partner_id = ?1), 0),
		coalesce((SELECT count FROM object_counts WHERE kind = 'media-entry' AND partner_id = ?1), 0),
		(SELECT count(*) FROM passages WHERE record IN
			(SELECT CAST(id AS INTEGER) FROM objects WHERE kind IN ('knowledge', 'category') AND partner_id = ?1))`,
		partnerID).Scan(&k.Records, &k.Categories, &k.Entries, &k.Passages)
	return k, err
}

func (s *Store) search(ctx context.Context, records string, arg any, words string, limit int) ([]Passage, error) {
	match := matchAny(words)
	if match == "" {
		return []Passage{}, nil
	}
	scan := func(row scanner) (p Passage, err error) {
		err = row.Scan(&p.Title, &p.Heading, &p.Body, &p.Source, &p.EntryID, &p.Line)
		return p, err
	}
	// A match in a heading is more relevant than one in the text.
	return all(ctx, s.read, scan,
		`SELECT title, heading, body, source, entry, line FROM passages WHERE passages MATCH ? AND record IN (`+records+`)
		 ORDER BY bm25(passages, 2.0, 6.0, 1.0), rowid LIMIT ?`, match, arg, limit)
}

// matchAny turns free text into an FTS5 expression. Every word is quoted, so
// that nothing a user types is read as FTS5 syntax. A word that is there twice would take
// twice the time.
func matchAny(text string) string {
	var words []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		quoted := `"` + word + `"`
		if !slices.Contains(words, quoted) {
			words = append(words, quoted)
		}
		if len(words) == maxQueryWords {
			break
		}
	}
	return strings.Join(words, " OR ")
}
