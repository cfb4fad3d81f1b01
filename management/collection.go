package management

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Records are the calls that every kind of records has. Making, changing and filtering them
// differs from kind to kind.
type Records[T any, ID string | int64] struct {
	c    *Client
	kind *collection[T, ID]
}

func recordsOf[T any, ID string | int64](c *Client, kind *collection[T, ID]) Records[T, ID] {
	return Records[T, ID]{c, kind}
}

// collection says what the calls about a kind of records are like: create (or add), get, list,
// update and delete.
type collection[T any, ID string | int64] struct {
	at     appinit.Service
	path   string // of the calls, without its last part
	create string // the last part for the call that makes a record
	what   string // the kind with its article, for errors
	key    string // the name of the id in bodies; "" is id
	all    query  // of a list

	// checkID, unless nil, is called in place of refusing an id that is empty, or not positive.
	checkID func(id ID) error
	// unused, unless nil, refuses to delete a record to which others refer. [Force] leaves it out.
	unused func(ctx context.Context, c *Client, id ID) error
	// names reports whether an intellect refers to a record; one to which an intellect refers
	// is refused with the code inUse, as unused does. nil for kinds to which none does.
	names func(i *Intellect, id ID) bool
	inUse fault.Code
}

// call is the endpoint of one of the calls.
func (r Records[T, ID]) call(name string, a again) endpoint {
	return endpoint{at: r.kind.at, path: r.kind.path + "/" + name, again: a}
}

// check refuses an id that can't be one.
func (r Records[T, ID]) check(id ID) error {
	if r.kind.checkID != nil {
		return r.kind.checkID(id)
	}
	if number, ok := any(id).(int64); ok {
		return positive("the id of "+r.kind.what, number)
	}
	return required("the id of "+r.kind.what, any(id).(string))
}

// about is the body of a call about one record.
func (r Records[T, ID]) about(id ID) map[string]any {
	return map[string]any{r.idKey(): id}
}

func (r Records[T, ID]) idKey() string { return cmp.Or(r.kind.key, "id") }

// fetch calls e with body as JSON, and rejects a reply without an id.
func (r Records[T, ID]) fetch(ctx context.Context, e endpoint, body any, opts ...Option) (*T, error) {
	encoded, err := fetch.JSON(body)
	if err != nil {
		return nil, err
	}
	return r.send(ctx, e, encoded, opts)
}

// send is fetch for a body in any form. The reply to a write gets its receipt.
func (r Records[T, ID]) send(ctx context.Context, e endpoint, body fetch.Body, opts []Option) (*T, error) {
	var reply identified[T]
	if err := r.c.send(ctx, e, body, &reply, opts); err != nil {
		return nil, err
	}
	var none ID
	var id *ID
	_ = json.Unmarshal(reply.fields[r.idKey()], &id) // of another type it is no id
	if id == nil || *id == none && r.check(none) != nil {
		return nil, fault.New(fault.InvalidResponse, "the reply has no id").At(e.path)
	}
	if !strings.HasSuffix(e.path, "/get") {
		written := any(&reply.record).(interface{ stamp(Meta) }) // every kind of records has a Receipt
		written.stamp(r.c.receipt(e.path, fmt.Sprint(*id)))
	}
	return &reply.record, nil
}

// identified is a record in a reply, with the fields of the reply, of which one is its id.
type identified[T any] struct {
	record T
	fields map[string]json.RawMessage
}

// UnmarshalJSON reads both.
func (i *identified[T]) UnmarshalJSON(data []byte) error {
	return cmp.Or(json.Unmarshal(data, &i.record), json.Unmarshal(data, &i.fields))
}

func (r Records[T, ID]) add(ctx context.Context, in any, opts []Option) (*T, error) {
	return r.fetch(ctx, r.call(r.kind.create, keyed), in, opts...)
}

// Get reads a record. Errors: bad_request for what can't be an id, and a code for which
// [IsNotFound] is true.
func (r Records[T, ID]) Get(ctx context.Context, id ID) (*T, error) {
	if err := r.check(id); err != nil {
		return nil, err
	}
	return r.fetch(ctx, r.call("get", harmless), r.about(id))
}

// List iterates over the account's records.
func (r Records[T, ID]) List(ctx context.Context, opts ...Option) iter.Seq2[*T, error] {
	return r.list(ctx, r.kind.all, nil, opts)
}

// list iterates over what q selects, or fails with bad.
func (r Records[T, ID]) list(ctx context.Context, q query, bad error, opts []Option) iter.Seq2[*T, error] {
	return list[T](ctx, r.c, listing{endpoint: r.call("list", harmless)}, q, bad, opts)
}

// update changes a record by a patch whose fields are left out of its JSON if they are not to
// change, unless one of checks is an error. An empty patch is refused.
func (r Records[T, ID]) update(ctx context.Context, id ID, patch any, checks ...error) (*T, error) {
	body := map[string]json.RawMessage{}
	text, err := json.Marshal(patch)
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		err = badRequest("the patch can't be encoded: " + err.Error())
	} else if len(body) == 0 {
		err = badRequest("the patch changes nothing; set at least one field")
	}
	if err := cmp.Or(append([]error{r.check(id), err}, checks...)...); err != nil {
		return nil, err
	}
	all := r.about(id)
	for name, value := range body {
		all[name] = value
	}
	return r.fetch(ctx, r.call("update", harmless), all)
}

// Delete deletes a record. Options: [ConfirmPermanent] (confirmation_required without it), and
// [Force] to delete one to which other records refer. Without Force those are read first, and
// one in use is a tool_in_use, skill_in_use, knowledge_in_use, or for an insight setting a
// conflict. Other errors are those of Get.
func (r Records[T, ID]) Delete(ctx context.Context, id ID, opts ...Option) error {
	given := settingsOf(opts)
	if err := cmp.Or(r.check(id), given.confirm(r.kind.what)); err != nil {
		return err
	}
	if r.kind.unused != nil && !given.has(Force) {
		if err := r.kind.unused(ctx, r.c, id); err != nil {
			return err
		}
	}
	if r.kind.names != nil && !given.has(Force) {
		if found, err := r.referencing(ctx, id); err != nil || len(found) > 0 {
			return cmp.Or(err, inUse(r.kind.inUse, strings.Replace(r.kind.what, "a ", "the ", 1), found))
		}
	}
	return r.c.post(ctx, r.call("delete", keyed), r.about(id), nil, opts...)
}

// referencing returns the intellects that refer to a record. It reads all intellects.
func (r Records[T, ID]) referencing(ctx context.Context, id ID) ([]*Intellect, error) {
	if err := r.check(id); err != nil {
		return nil, err
	}
	var found []*Intellect
	for intellect, err := range r.c.Intellects.List(ctx, PageSize(MaxPageSize)) {
		if err != nil {
			return nil, err
		}
		if r.kind.names(intellect, id) {
			found = append(found, intellect)
		}
	}
	return found, nil
}
