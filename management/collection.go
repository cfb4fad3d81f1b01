package management

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// collection is the calls that every kind of records has: create (or add), get, list, update
// and delete. Public methods check their input and describe their errors.
type collection[T any, P record[T], ID string | int64] struct {
	at     appinit.Service
	path   string // of the calls, without its last part
	create string // the last part for the call that makes a record
	what   string // the kind with its article, for errors
	key    string // the name of the id in bodies; "" is id

	// checkID, unless nil, is called in place of refusing an id that is empty, or not positive.
	checkID func(id ID) error
}

// call is the endpoint of one of the calls.
func (k collection[T, P, ID]) call(name string, a again) endpoint {
	return endpoint{at: k.at, path: k.path + "/" + name, again: a}
}

// check refuses an id that can't be one.
func (k collection[T, P, ID]) check(id ID) error {
	if k.checkID != nil {
		return k.checkID(id)
	}
	if number, ok := any(id).(int64); ok {
		return positive("the id of "+k.what, number)
	}
	return required("the id of "+k.what, any(id).(string))
}

// about is the body of a call about one record.
func (k collection[T, P, ID]) about(id ID) map[string]any {
	return map[string]any{cmp.Or(k.key, "id"): id}
}

func (k collection[T, P, ID]) add(ctx context.Context, c *Client, in any, opts []Option) (P, error) {
	return fetchRecord[T, P](ctx, c, k.call(k.create, keyed), in, opts...)
}

func (k collection[T, P, ID]) get(ctx context.Context, c *Client, id ID) (P, error) {
	if err := k.check(id); err != nil {
		return nil, err
	}
	return fetchRecord[T, P](ctx, c, k.call("get", harmless), k.about(id))
}

// list iterates over what q selects, or fails with bad.
func (k collection[T, P, ID]) list(ctx context.Context, c *Client, q query, bad error, opts []Option) iter.Seq2[*T, error] {
	return list[T](ctx, c, listing{endpoint: k.call("list", harmless)}, q, bad, opts)
}

// update changes a record by a patch whose fields are left out of its JSON if they are not to
// change, unless one of checks is an error. An empty patch is refused.
func (k collection[T, P, ID]) update(ctx context.Context, c *Client, id ID, patch any, checks ...error) (P, error) {
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
	if err := firstError(append([]error{k.check(id), err}, checks...)...); err != nil {
		return nil, err
	}
	all := k.about(id)
	for name, value := range body {
		all[name] = value
	}
	return fetchRecord[T, P](ctx, c, k.call("update", harmless), all)
}

// delete deletes a record, unless the call is not confirmed or unused, which may be nil, has
// an error. [Force] leaves unused out.
func (k collection[T, P, ID]) delete(ctx context.Context, c *Client, id ID, unused func() error, opts []Option) error {
	given := settingsOf(opts)
	if err := firstError(k.check(id), given.confirm(k.what)); err != nil {
		return err
	}
	if unused != nil && !given.has(Force) {
		if err := unused(); err != nil {
			return err
		}
	}
	return c.post(ctx, k.call("delete", keyed), k.about(id), nil, opts...)
}
