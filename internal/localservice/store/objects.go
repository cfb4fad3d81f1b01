package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrTaken means that another record of the kind has the name.
var ErrTaken = errors.New("the name is in use already")

// ErrInUse means that something else refers to the record.
var ErrInUse = errors.New("the record is in use")

// SharedPartner owns the records that every partner may use and none may change.
const SharedPartner = 0

// Record is a stored T.
type Record[T any] struct {
	ID        string
	PartnerID int64
	Body      T
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Number is the id of a record whose kind has numbers as ids.
func (r *Record[T]) Number() int64 {
	n, _ := strconv.ParseInt(r.ID, 10, 64) // such ids come from the store
	return n
}

// Collection is all records of one kind. Every method is limited to one partner: an id of
// another partner is treated like one that does not exist ([ErrNotFound]).
//
// What returns one is a function, such as [Intellects], and not a method of [Store]: the methods of a generic type
// are compiled again in each package that describes a type with it. With methods of Store that was every package with
// a Store in one of its types, and 2 s of a core for each.
type Collection[T any] struct {
	store *Store
	kind  string
	newID func() string   // nil makes numbers
	name  func(*T) string // returns the name, which must be unique within a partner; nil or "" for none

	// parts, unless nil, is called in the transaction that stores a record, to store what it
	// refers to before it.
	parts func(ctx context.Context, tx *sql.Tx, partnerID int64, body *T) error

	// references, unless nil, returns what a record refers to. All of it has to exist when the
	// record is stored, else it is refused with a [MissingError].
	references func(*T) []Reference

	// kept, unless nil, is called in the transaction that stores a record, to store what
	// belongs to it.
	kept func(context.Context, *sql.Tx, *Record[T]) error

	// namedBy are the lists in records of other kinds that have ids of this kind. A delete
	// removes the id from them: a list with an id that does not exist could not be written
	// again as it was read.
	namedBy []idList

	// referrer, unless nil, is called in the transaction that deletes a record. It returns what
	// refers to the record, which is kept then, or "".
	referrer func(ctx context.Context, tx *sql.Tx, partnerID int64, id string) (string, error)

	// hasFile is whether the records have a file, assetId, which goes with them.
	hasFile bool
}

// idList is a field of records that is a list of ids, or of objects with an id.
type idList struct{ kind, field string }

// forget removes an id from the lists of a partner's records.
func (l idList) forget(ctx context.Context, tx *sql.Tx, partnerID int64, id string) error {
	const entry = `CAST(CASE type WHEN 'object' THEN json_extract(value, '$.id') ELSE value END AS TEXT)`
	path := "$." + l.field
	_, err := tx.ExecContext(ctx,
		`UPDATE objects SET updated_at = ?, body = json_set(body, ?, json((
			SELECT json_group_array(json(CASE type WHEN 'object' THEN value ELSE json_quote(value) END)) FROM json_each(body, ?) WHERE `+entry+` <> ?)))
		WHERE kind = ? AND partner_id = ? AND EXISTS (SELECT 1 FROM json_each(body, ?) WHERE `+entry+` = ?)`,
		millis(time.Now()), path, path, id, l.kind, partnerID, path, id)
	return err
}

// UUID makes the ids of most kinds.
func UUID() string { return uuid.NewString() }

// HexID makes the ids of avatars and catalog items: 24 hexadecimal digits.
func HexID() string {
	id := make([]byte, 12)
	rand.Read(id) //nolint:errcheck // never fails
	return hex.EncodeToString(id)
}

// Query selects from a list. The zero Query selects everything, in the order of
// creation.
type Query struct {
	IDs    []string // nil is every id
	Where  []Condition
	Shared bool // with the shared records
	Order  Order
	Page   // its Limit 0 is no limit
}

// Condition is one condition of a [Query].
type Condition struct {
	sql  string
	args []any
}

// Equals selects the records that have that value in a field of the body.
func Equals[T any](field string, value T) Condition {
	return Condition{`json_extract(body, ?) = ?`, []any{"$." + field, value}}
}

// Has selects the records that have a field of the body, or those that lack it.
func Has(field string, there bool) Condition {
	return Condition{`(json_extract(body, ?) IS NOT NULL) = ?`, []any{"$." + field, there}}
}

// HasAny selects the records that have one of the values in a list of the body.
func HasAny(field string, values []string) Condition {
	return Condition{
		`EXISTS (SELECT 1 FROM json_each(body, ?) WHERE value IN (SELECT value FROM json_each(?)))`,
		[]any{"$." + field, jsonList(values)},
	}
}

// HasNone selects the records that have none of the values in a list of the body.
func HasNone(field string, values []string) Condition {
	c := HasAny(field, values)
	c.sql = "NOT " + c.sql
	return c
}

// Contains selects the records that have the text in the id or in a field of the body,
// ignoring case.
func Contains(field, text string) Condition {
	text = strings.ToLower(text)
	return Condition{`(instr(fold(id), ?) OR instr(fold(json_extract(body, ?)), ?))`, []any{text, "$." + field, text}}
}

func init() {
	// SQLite's own lower() supports ASCII only.
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			text, _ := args[0].(string)
			return strings.ToLower(text), nil
		})
}

// WithRequest returns a context for the creates, deletes, shares and pushes of the request with that
// idempotency key: when the request is repeated, they return the first result and have no
// further effect. "" is no key.
func WithRequest(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, requestKey{}, key)
}

type requestKey struct{}

func requestOf(ctx context.Context) sql.NullString {
	key, _ := ctx.Value(requestKey{}).(string)
	return sql.NullString{String: key, Valid: key != ""}
}

// IDFor returns the id of the message that a request makes of an object: a new id, but for a
// repeated request ([WithRequest]) the one of the first time.
func IDFor(ctx context.Context, made, of string) string {
	request := requestOf(ctx)
	if !request.Valid {
		return UUID()
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(made+"\n"+of+"\n"+request.String)).String()
}

// deletionsKept is how long a repeated delete is recognised.
const deletionsKept = 24 * time.Hour

// isKind is the condition that an object is of this kind. The kind is not an argument: SQLite looks at its value
// to know whether the partial indexes of agents can be used, and parses the statement again at each use.
func (c Collection[T]) isKind() string { return `kind = '` + c.kind + `'` }

// Get returns one record.
func (c Collection[T]) Get(ctx context.Context, partnerID int64, id string) (Record[T], error) {
	return one(c.row(ctx, partnerID, id), scanRecord[T])
}

func (c Collection[T]) row(ctx context.Context, partnerID int64, id string) *sql.Row {
	return c.store.read.QueryRowContext(ctx,
		`SELECT `+objectColumns+` FROM objects WHERE `+c.isKind()+` AND partner_id = ? AND id = ?`, partnerID, id)
}

// Usable returns the records with these ids that the partner may use, its own and the
// shared ones, in the order of ids.
func (c Collection[T]) Usable(ctx context.Context, partnerID int64, ids []string) ([]Record[T], error) {
	if len(ids) == 0 {
		return nil, nil
	}
	q := Query{IDs: ids, Shared: true}
	found, err := c.find(ctx, q, c.where(partnerID, q))
	if err != nil {
		return nil, err
	}
	byID := map[string]Record[T]{}
	for _, r := range found {
		byID[r.ID] = r
	}
	var list []Record[T]
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			list = append(list, r)
		}
	}
	return list, nil
}

// List returns the records that a query selects, and how many there are without its
// Offset and Limit.
func (c Collection[T]) List(ctx context.Context, partnerID int64, q Query) ([]Record[T], int, error) {
	w := c.where(partnerID, q)
	count := `SELECT count(*) FROM objects WHERE `
	if q.IDs == nil && len(q.Where) == 0 { // object_counts has this number
		count = `SELECT coalesce(sum(count), 0) FROM object_counts WHERE `
	}
	var total int
	if err := c.store.read.QueryRowContext(ctx, count+w.String(), w.args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	list, err := c.find(ctx, q, w)
	return list, total, err
}

// where is the condition of a query.
func (c Collection[T]) where(partnerID int64, q Query) *where {
	w := &where{}
	w.add(c.isKind())
	if q.Shared {
		w.add("partner_id IN (?, ?)", partnerID, SharedPartner)
	} else {
		w.add("partner_id = ?", partnerID)
	}
	among(w, "id", q.IDs)
	for _, condition := range q.Where {
		w.add(condition.sql, condition.args...)
	}
	return w
}

// find returns the records that where selects, in the order and within the bounds of q.
func (c Collection[T]) find(ctx context.Context, q Query, w *where) ([]Record[T], error) {
	order := "seq"
	if q.Order != "" {
		order = q.Order.sql("objects")
	}
	q.Limit = cmp.Or(q.Limit, -1)
	return all(ctx, c.store.read, scanRecord[T],
		`SELECT `+objectColumns+` FROM objects WHERE `+w.String()+` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(w.args, q.Limit, q.Offset)...)
}

// Create stores a new record under a new id. A repeated request returns the record that
// it created the first time ([WithRequest]).
func (c Collection[T]) Create(ctx context.Context, partnerID int64, body T) (r Record[T], err error) {
	err = c.store.tx(ctx, func(tx *sql.Tx) (err error) {
		r, err = c.create(ctx, tx, partnerID, body)
		return err
	})
	return r, err
}

func (c Collection[T]) create(ctx context.Context, tx *sql.Tx, partnerID int64, body T) (Record[T], error) {
	if request := requestOf(ctx); request.Valid {
		r, err := one(tx.QueryRowContext(ctx, `SELECT `+objectColumns+` FROM objects WHERE kind = ? AND partner_id = ? AND request = ?`,
			c.kind, partnerID, request), scanRecord[T])
		if !errors.Is(err, ErrNotFound) {
			return r, err
		}
	}
	return c.insert(ctx, tx, partnerID, "", body)
}

// insert stores a new record in a transaction, under id, or under a new one for "".
func (c Collection[T]) insert(ctx context.Context, tx *sql.Tx, partnerID int64, id string, body T) (Record[T], error) {
	now := now()
	r := Record[T]{ID: id, PartnerID: partnerID, Body: body, CreatedAt: now, UpdatedAt: now}
	text, err := c.text(ctx, tx, partnerID, &r.Body, nil)
	if err != nil {
		return r, err
	}
	var seq int64
	if err := tx.QueryRowContext(ctx, `SELECT seq + 1 FROM sqlite_sequence WHERE name = 'objects'`).Scan(&seq); err != nil {
		return r, err
	}
	switch {
	case r.ID != "":
	case c.newID == nil:
		r.ID = strconv.FormatInt(seq, 10)
	default:
		r.ID = c.newID()
	}
	_, err = tx.ExecContext(ctx,
		`INSERT INTO objects (seq, kind, partner_id, id, name, request, body, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, c.kind, partnerID, r.ID, c.nameOf(&r.Body), requestOf(ctx), text, millis(now), millis(now))
	if err == nil && c.kept != nil {
		err = c.kept(ctx, tx, &r)
	}
	return r, taken(err)
}

// text stores the parts of a body, checks what it refers to, and returns its text. before is the
// text that it replaces, nil for a new record.
func (c Collection[T]) text(ctx context.Context, tx *sql.Tx, partnerID int64, body *T, before []byte) (string, error) {
	if c.parts != nil {
		if err := c.parts(ctx, tx, partnerID, body); err != nil {
			return "", err
		}
	}
	if c.references != nil {
		var known []Reference
		if before != nil {
			var old T
			if err := json.Unmarshal(before, &old); err != nil {
				return "", err
			}
			known = c.references(&old)
		}
		if err := checkReferences(ctx, tx, partnerID, c.references(body), known); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(body)
	return string(text), err
}

// errChanged means that a record was changed since it was read.
var errChanged = errors.New("the record was changed meanwhile")

// Update changes a record. An error of change leaves it as it is. change is called outside of the
// transaction, so that other requests can write while it works, and again with the newer record
// when that was written meanwhile.
func (c Collection[T]) Update(ctx context.Context, partnerID int64, id string, change func(*T) error) (Record[T], error) {
	for {
		r, err := c.updateOnce(ctx, partnerID, id, change)
		if !errors.Is(err, errChanged) {
			return r, err
		}
	}
}

func (c Collection[T]) updateOnce(ctx context.Context, partnerID int64, id string, change func(*T) error) (Record[T], error) {
	var before []byte
	r, err := one(c.row(ctx, partnerID, id), func(row scanner) (r Record[T], err error) {
		r, before, err = scanStored[T](row)
		return r, err
	})
	if err == nil {
		err = change(&r.Body)
	}
	if err != nil {
		return r, err
	}
	r.UpdatedAt = now()
	err = c.store.tx(ctx, func(tx *sql.Tx) error {
		text, err := c.text(ctx, tx, partnerID, &r.Body, before)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `UPDATE objects SET name = ?, body = ?, updated_at = ? WHERE kind = ? AND partner_id = ? AND id = ? AND body = ?`,
			c.nameOf(&r.Body), text, millis(r.UpdatedAt), c.kind, partnerID, id, string(before))
		if err != nil {
			return taken(err)
		}
		if rows, err := result.RowsAffected(); err != nil || rows == 0 {
			return cmp.Or(err, errChanged) // or deleted
		}
		if c.kept == nil {
			return nil
		}
		return c.kept(ctx, tx, &r)
	})
	return r, err
}

// Delete removes a record, and its id from the lists that have it. If something needs the record,
// it fails with an [ErrInUse] that names it. A repeated request succeeds again ([WithRequest]).
func (c Collection[T]) Delete(ctx context.Context, partnerID int64, id string) error {
	return c.store.removing(ctx, func(tx *sql.Tx) error {
		if c.hasFile {
			_, err := tx.ExecContext(ctx, `DELETE FROM assets WHERE id =
				(SELECT json_extract(body, '$.assetId') FROM objects WHERE kind = ? AND partner_id = ? AND id = ?)`, c.kind, partnerID, id)
			if err != nil {
				return err
			}
		}
		result, err := tx.ExecContext(ctx, `DELETE FROM objects WHERE kind = ? AND partner_id = ? AND id = ?`, c.kind, partnerID, id)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		request := requestOf(ctx)
		switch {
		case err != nil:
			return err
		case n == 0 && request.Valid:
			err := tx.QueryRowContext(ctx, `SELECT 1 FROM deletions WHERE kind = ? AND partner_id = ? AND id = ? AND request = ?`,
				c.kind, partnerID, id, request).Scan(&n)
			if errors.Is(err, sql.ErrNoRows) {
				err = ErrNotFound
			}
			return err
		case n == 0:
			return ErrNotFound
		}
		if c.referrer != nil {
			referrer, err := c.referrer(ctx, tx, partnerID, id)
			if err != nil {
				return err
			}
			if referrer != "" {
				return fmt.Errorf("%w: %s refers to it", ErrInUse, referrer)
			}
		}
		for _, list := range c.namedBy {
			if err := list.forget(ctx, tx, partnerID, id); err != nil {
				return err
			}
		}
		return deleted(ctx, tx, c.kind, partnerID, id)
	})
}

// deleted records, for a repetition of its request, what a request has deleted.
func deleted(ctx context.Context, tx *sql.Tx, kind string, partnerID int64, ids ...string) error {
	request := requestOf(ctx)
	if !request.Valid {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM deletions WHERE deleted_at < ?`, millis(time.Now().Add(-deletionsKept))); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO deletions (kind, partner_id, id, request, deleted_at) SELECT ?, ?, value, ?, ? FROM json_each(?)`,
		kind, partnerID, request, millis(time.Now()), jsonList(ids))
	return err
}

func (c Collection[T]) nameOf(body *T) sql.NullString {
	if c.name == nil {
		return sql.NullString{}
	}
	name := c.name(body)
	return sql.NullString{String: name, Valid: name != ""}
}

const objectColumns = `id, partner_id, body, created_at, updated_at`

func scanRecord[T any](row scanner) (Record[T], error) {
	r, _, err := scanStored[T](row)
	return r, err
}

// scanStored also returns the text of the body.
func scanStored[T any](row scanner) (r Record[T], body []byte, err error) {
	var created, updated int64
	if err := row.Scan(&r.ID, &r.PartnerID, &body, &created, &updated); err != nil {
		return r, nil, err
	}
	r.CreatedAt, r.UpdatedAt = fromMillis(created), fromMillis(updated)
	return r, body, json.Unmarshal(body, &r.Body)
}

// taken returns [ErrTaken] for a name that is in use, and other errors as they are.
func taken(err error) error {
	var refused *sqlite.Error
	if errors.As(err, &refused) && refused.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return ErrTaken
	}
	return err
}

// jsonList is a list for json_each; of null that would make one row.
func jsonList[T any](list []T) string {
	text, _ := json.Marshal(append([]T{}, list...)) // strings and numbers always marshal
	return string(text)
}
