package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Category is a folder of the media API. The intellects that are linked to it answer from
// the documents in it and in the categories below it.
type Category struct {
	Name        string   `json:"name"`
	ParentID    int64    `json:"parentId"`  // 0 for the root
	FullName    string   `json:"fullName"`  // the names from the root on, joined with ">"
	Ancestors   []string `json:"ancestors"` // the ids from the root on, without its own
	Description string   `json:"description"`
}

// CategorySeparator separates the names in a full name.
const CategorySeparator = ">"

// MediaEntry is a document of the media API. Its passages are found in its categories.
type MediaEntry struct {
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Type         string   `json:"type"`
	DocumentType int      `json:"documentType"`
	FileName     string   `json:"fileName,omitempty"`
	AssetID      string   `json:"assetId,omitempty"`         // of its file, "" before it is uploaded
	MarkdownID   string   `json:"markdownAssetId,omitempty"` // of a Markdown version of it, "" for none
	Categories   []string `json:"categories"`                // ids

	// Passages are the pieces into which the text was split. They are stored in the index,
	// once for each category; nil keeps the stored ones.
	Passages []Passage `json:"-"`
}

// Upload is a file that was announced, and later sent, before an entry gets it.
type Upload struct {
	FileName string `json:"fileName"`
	Size     int64  `json:"size"`
	AssetID  string `json:"assetId,omitempty"` // "" before the file was sent
}

// Attachment is a further file of an entry.
type Attachment struct {
	EntryID  string `json:"entryId"`
	FileName string `json:"filename"`
	FileExt  string `json:"fileExt"`
	Format   int    `json:"format"`
	AssetID  string `json:"assetId,omitempty"` // "" before it has its content
}

// Categories is the collection of categories. No two have the same full name. Their ids
// are numbers that knowledge records do not have, so that both can own passages.
func Categories(s *Store) Collection[Category] {
	return Collection[Category]{store: s, kind: CategoryKind, name: func(c *Category) string { return c.FullName }}
}

// MediaEntries is the collection of documents. Storing one with passages replaces its
// stored passages.
func MediaEntries(s *Store) Collection[MediaEntry] {
	c := Collection[MediaEntry]{store: s, kind: "media-entry", newID: entryID}
	c.kept = func(ctx context.Context, tx *sql.Tx, r *Record[MediaEntry]) error {
		if r.Body.Passages == nil {
			return nil
		}
		// A source of a knowledge record may have the same entry id, but no category has it.
		if _, err := tx.ExecContext(ctx, `DELETE FROM passages WHERE entry = ? AND record IN
			(SELECT CAST(id AS INTEGER) FROM objects WHERE kind = 'category' AND partner_id = ?)`, r.ID, r.PartnerID); err != nil {
			return err
		}
		for _, category := range r.Body.Categories {
			id, err := strconv.ParseInt(category, 10, 64)
			if err != nil {
				return err
			}
			for i := range r.Body.Passages {
				r.Body.Passages[i].EntryID = r.ID
			}
			if err := addPassages(ctx, tx, id, r.Body.Passages); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// entryID makes the id of a media entry, which looks like those of the media API.
func entryID() string { return "1_" + strings.ToLower(rand.Text()[:8]) }

// Uploads is the collection of uploads.
func Uploads(s *Store) Collection[Upload] {
	return Collection[Upload]{store: s, kind: "upload", newID: UUID}
}

// DeleteUploads removes the uploads from before a time, of every partner, with their files:
// no entry has taken them.
func (s *Store) DeleteUploads(ctx context.Context, before time.Time) error {
	return s.removing(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM assets WHERE id IN
			(SELECT json_extract(body, '$.assetId') FROM objects WHERE kind = 'upload' AND created_at < ?)`, millis(before))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM objects WHERE kind = 'upload' AND created_at < ?`, millis(before))
		return err
	})
}

// AwaitsUpload reports whether there is an upload with that id, of any partner, which has
// no file yet.
func (s *Store) AwaitsUpload(ctx context.Context, id string) (waits bool, err error) {
	err = s.read.QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM objects WHERE kind = 'upload' AND id = ? AND json_extract(body, '$.assetId') IS NULL)`, id).Scan(&waits)
	return waits, err
}

// Attachments is the collection of attachments.
func Attachments(s *Store) Collection[Attachment] {
	return Collection[Attachment]{store: s, kind: "attachment", newID: entryID}
}

// Within returns the ids of those of the categories that the partner has, and of all
// categories below them.
func (s *Store) Within(ctx context.Context, partnerID int64, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, _, err := Categories(s).List(ctx, partnerID, Query{Where: []Condition{{
		`(id IN (SELECT value FROM json_each(?)) OR ` + HasAny("", nil).sql + `)`,
		[]any{jsonList(ids), "$.ancestors", jsonList(ids)},
	}}})
	found := make([]string, len(list))
	for i, r := range list {
		found[i] = r.ID
	}
	return found, err
}

// LinkedCategories returns the ids of the categories to which an indexer of the brain
// configuration links the intellect (management-api.md, F.9 linkCategory).
func (in *Intellect) LinkedCategories() []string {
	var config struct {
		Indexer struct {
			CategoryInfo []struct {
				CategoryID json.RawMessage `json:"categoryId"`
			} `json:"categoryInfo"`
		} `json:"indexer"`
	}
	if json.Unmarshal(in.BrainConfig, &config) != nil { // it has another form: nothing is linked
		return nil
	}
	var ids []string
	for _, info := range config.Indexer.CategoryInfo {
		ids = append(ids, strings.Trim(string(info.CategoryID), `"`)) // text, or a number
	}
	return ids
}
