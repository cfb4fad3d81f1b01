package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// resource is the calls about one kind of record that partners create: create (or add),
// update, list, get and delete. Its fields are what the kind has of its own.
type resource[T any] struct {
	records store.Collection[T]
	view    func(*store.Record[T]) any // a record as clients see it

	key      string // the name of the id in bodies, "" for id
	numbered bool   // ids are numbers, and the reply to a delete is null
	shared   bool   // get also returns a record that all partners have

	needs []string         // fields that a new record must have
	blank func(*call) T    // a new record without fields; nil for the zero T
	query listQueryDecoder // the filter and the page of a list

	// set returns a record with the fields of a body in place of its own, and checks it.
	set func(old T, body fields) (T, error)
	// check, unless nil, checks a record together with the body, and may complete it. old is the
	// record that an update changes, nil for a new one. Whether what it refers to exists is
	// checked when it is stored ([store.MissingError]).
	check func(c *call, record, old *T, body fields) error
	// noEffect, unless nil, says what of a write has no effect in this service.
	noEffect func(record *T, body fields) []string
	// checkID, unless nil, refuses an id of the wrong form.
	checkID func(id string) error
	// absent and unknown, unless nil, are the errors about a request to read or delete without
	// an id, and about a record that does not exist.
	absent, unknown error
}

// listQueryDecoder makes the query of a list of the body of its request.
type listQueryDecoder func(*listQuery) (store.Query, error)

// host adds an endpoint of one of the two hosts: [server.manage], [server.manageAgentHost].
type host func(mux routes, path string, handle func(*call) (any, error))

// collect adds the endpoints of a kind of records; create is the last part of the path of
// the first.
func collect[T any](on host, mux routes, path, create string, k *resource[T]) {
	k.writes(on, mux, path, create)
	k.reads(on, mux, path)
}

// writes adds the endpoints that store records; create is the last part of the path of the
// first.
func (k *resource[T]) writes(on host, mux routes, path, create string) {
	on(mux, path+"/"+create, withBody(k.create))
	on(mux, path+"/update", withBody(k.update))
}

// reads adds the endpoints list, get and delete.
func (k *resource[T]) reads(on host, mux routes, path string) {
	on(mux, path+"/list", withBody(k.list))
	on(mux, path+"/get", k.one(k.get))
	on(mux, path+"/delete", k.one(k.delete))
}

func (k *resource[T]) create(c *call, body fields) (any, error) {
	if err := body.need(k.needs...); err != nil {
		return nil, err
	}
	record, err := k.new(c, body)
	if err != nil {
		return nil, err
	}
	r, err := k.records.Create(c.ctx(), c.claims.PartnerID, record)
	return k.wrote(r, err, body)
}

// new makes a record of a body, without storing it.
func (k *resource[T]) new(c *call, body fields) (T, error) {
	var blank T
	if k.blank != nil {
		blank = k.blank(c)
	}
	return k.apply(c, blank, nil, body)
}

// apply returns a record with the fields of a body in place of its own, checked; old is the
// record of an update, nil for a new one.
func (k *resource[T]) apply(c *call, record T, old *T, body fields) (T, error) {
	record, err := k.set(record, body)
	if err == nil && k.check != nil {
		err = k.check(c, &record, old, body)
	}
	return record, err
}

func (k *resource[T]) update(c *call, body fields) (any, error) {
	id, err := k.takeID(body)
	if err != nil {
		return nil, err
	}
	body.dropReadOnly("createdAt", "updatedAt")
	return k.change(c, id, body)
}

// change applies fields to a stored record.
func (k *resource[T]) change(c *call, id string, body fields) (any, error) {
	return k.known(func() (any, error) {
		r, err := k.records.Update(c.ctx(), c.claims.PartnerID, id, func(record *T) (err error) {
			old := *record
			*record, err = k.apply(c, old, &old, body)
			return err
		})
		return k.wrote(r, err, body)
	})
}

func (k *resource[T]) list(c *call, body listQuery) (any, error) {
	q, err := k.query(&body)
	if err != nil {
		return nil, err
	}
	list, total, err := k.records.List(c.ctx(), c.claims.PartnerID, q)
	return listed(list, total, err, k.view)
}

func (k *resource[T]) get(c *call, id string) (any, error) {
	r, err := k.read(c, id)
	return viewed(r, err, k.view)
}

// read returns a record of the partner's own, or one that all partners have if get may.
func (k *resource[T]) read(c *call, id string) (r store.Record[T], err error) {
	if !k.shared {
		return k.records.Get(c.ctx(), c.claims.PartnerID, id)
	}
	found, err := k.records.Usable(c.ctx(), c.claims.PartnerID, []string{id})
	if err != nil || len(found) == 0 {
		return r, cmp.Or(err, store.ErrNotFound)
	}
	return found[0], nil
}

func (k *resource[T]) delete(c *call, id string) (any, error) {
	err := k.records.Delete(c.ctx(), c.claims.PartnerID, id)
	if k.numbered {
		return nil, err
	}
	return map[string]string{k.idKey(): id}, err
}

// one returns a handler of a call about one record.
func (k *resource[T]) one(handle func(c *call, id string) (any, error)) func(*call) (any, error) {
	return withBody(func(c *call, body fields) (any, error) {
		if raw := string(body[k.idKey()]); k.absent != nil && (raw == "" || raw == "null" || raw == `""`) {
			return nil, k.absent
		}
		id, err := k.takeID(body)
		if err != nil {
			return nil, err
		}
		return k.known(func() (any, error) { return handle(c, id) })
	})
}

// known calls a handler about one record, and reports one that does not exist.
func (k *resource[T]) known(handle func() (any, error)) (any, error) {
	reply, err := handle()
	if k.unknown != nil && errors.Is(err, store.ErrNotFound) {
		err = k.unknown
	}
	return reply, err
}

// wrote is the reply of a create or an update.
func (k *resource[T]) wrote(r store.Record[T], err error, body fields) (any, error) {
	reply, err := viewed(r, err, k.view)
	if err != nil || k.noEffect == nil {
		return reply, err
	}
	return noted{reply, k.noEffect(&r.Body, body)}, nil
}

func (k *resource[T]) idKey() string { return cmp.Or(k.key, "id") }

// takeID reads the id in a body and removes it.
func (k *resource[T]) takeID(body fields) (id string, err error) {
	key := k.idKey()
	if k.numbered {
		var number int64
		err = body.take(key, &number)
		return strconv.FormatInt(number, 10), err
	}
	err = body.take(key, &id)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return "", missing(key)
	case k.checkID != nil:
		return id, k.checkID(id)
	}
	return id, nil
}

// paged is the query of a list of the conversation host, whose filter has the type kind and
// nothing else; shared lists also what all partners have.
func paged(kind string, shared bool) listQueryDecoder {
	return func(body *listQuery) (store.Query, error) {
		page, err := body.Pager.page(threadPageSize)
		return store.Query{Shared: shared, Page: page}, cmp.Or(err, readFilter(body.Filter, kind, nil))
	}
}

// byFields is the query of a list of the agent host whose filter compares fields of the
// records: each key is the name of a field followed by "Equal".
func byFields(keys ...string) listQueryDecoder {
	return func(body *listQuery) (q store.Query, err error) {
		var id *string
		into := conditions{"idsIn": &q.IDs, "idEquals": &id}
		for _, key := range keys {
			into[key] = where(&q, strings.TrimSuffix(key, "Equal"), store.Equals[string])
		}
		err = cmp.Or(body.ordered(&q), readFilter(body.Filter, "", into))
		q.IDs = narrow(q.IDs, id)
		return q, err
	}
}

// shown returns the fields of a record as clients see them, with some more.
func shown(body any, more map[string]any) fields {
	all := fields{}
	for _, part := range []any{body, more} {
		text, _ := json.Marshal(part)  // what is stored always marshals
		_ = json.Unmarshal(text, &all) // it has just been written
	}
	return all
}

// viewAgentHost and viewConversationHost are the views of records that are shown as they are
// stored, on the two hosts.
func viewAgentHost[T any](r *store.Record[T]) any {
	return shown(r.Body, map[string]any{"id": r.ID, "createdAt": r.CreatedAt, "updatedAt": r.UpdatedAt})
}

func viewConversationHost[T any](r *store.Record[T]) any {
	return shown(r.Body, map[string]any{"id": r.ID, "partner_id": r.PartnerID, "created_at": r.CreatedAt, "updated_at": r.UpdatedAt})
}

// viewNumbered is [viewConversationHost] for records whose ids are numbers.
func viewNumbered[T any](r *store.Record[T]) fields {
	v := viewConversationHost(r).(fields)
	v["id"] = json.RawMessage(r.ID)
	return v
}
