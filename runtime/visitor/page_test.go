package visitor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

func TestPagersAskForOnePageAfterTheOther(t *testing.T) {
	thread := func(id string) string { return `{"id":"` + id + `"}` }
	threads := func(total int, ids ...string) reply {
		var objects []string
		for _, id := range ids {
			objects = append(objects, thread(id))
		}
		return ok(fmt.Sprintf(`{"totalCount":%d,"objects":[%s]}`, total, strings.Join(objects, ",")))
	}
	requests := func(size int, pages ...int) (list []string) {
		for _, page := range pages {
			list = append(list, post("/v1/thread/list", fmt.Sprintf(
				`{"filter":{"objectType":"ListThreadFilter","orderBy":"+createdAt"},"pager":{"pageIndex":%d,"pageSize":%d}}`, page, size)))
		}
		return list
	}
	two := visitor.Pager{PageSize: new(2)}
	for _, test := range []struct {
		name    string
		pager   visitor.Pager
		stop    int // after so many; 0 is never
		replies []reply
		ids     string
		code    fault.Code
		want    []string
	}{
		{name: "none", replies: []reply{threads(0)}, want: requests(30, 1)},
		{name: "one page", ids: "a b", replies: []reply{threads(2, "a", "b")}, want: requests(30, 1)},
		{
			name: "three pages", pager: two, ids: "a b c d e", want: requests(2, 1, 2, 3),
			replies: []reply{threads(5, "a", "b"), threads(5, "c", "d"), threads(5, "e")},
		},
		{
			name: "from the second page", pager: visitor.Pager{PageIndex: new(2), PageSize: new(2)}, ids: "c d", want: requests(2, 2),
			replies: []reply{threads(4, "c", "d")},
		},
		{
			name: "smaller pages than asked for", pager: visitor.Pager{PageSize: new(500)}, ids: "a b c", want: requests(500, 1, 2),
			replies: []reply{threads(3, "a", "b"), threads(3, "c")},
		},
		{
			name: "threads vanish meanwhile", pager: two, ids: "a b", want: requests(2, 1, 2),
			replies: []reply{threads(5, "a", "b"), threads(5)},
		},
		{
			name: "a count that is too high, and an empty page", pager: two, ids: "a b", want: requests(2, 1, 2),
			replies: []reply{threads(1e9, "a", "b"), threads(1e9)},
		},
		{
			name: "no count", pager: two, ids: "a b c", want: requests(2, 1, 2, 3),
			replies: []reply{ok(`{"objects":[{"id":"a"},{"id":"b"}]}`), ok(`{"objects":[{"id":"c"}]}`), ok(`{"objects":[]}`)},
		},
		{
			name: "a count that is too low", pager: two, ids: "a b c", want: requests(2, 1, 2),
			replies: []reply{threads(1, "a", "b"), threads(3, "c")},
		},
		{
			name: "a thread is added meanwhile", pager: visitor.Pager{PageSize: new(1)}, ids: "a a b", want: requests(1, 1, 2, 3),
			replies: []reply{threads(2, "a"), threads(3, "a"), threads(3, "b")},
		},
		{
			name: "one page for ever", pager: two, ids: "a b a b", code: fault.InvalidResponse, want: requests(2, 1, 2, 3),
			replies: []reply{threads(1e9, "a", "b"), threads(1e9, "a", "b"), threads(1e9, "a", "b"), threads(1e9, "a", "b")},
		},
		{
			name: "left early", pager: two, stop: 2, ids: "a b", want: requests(2, 1),
			replies: []reply{threads(5, "a", "b"), threads(5, "c", "d")},
		},
		{
			name: "second page fails", pager: two, ids: "a b", code: fault.ServerError, want: requests(2, 1, 2),
			replies: []reply{threads(5, "a", "b"), {status: 500}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s := newClient(t, visitor.Options{}, test.replies...)
			var ids []string
			var failed error
			for thread, err := range c.AllThreads(t.Context(), visitor.ThreadQuery{
				Filter: visitor.Filter{"orderBy": "+createdAt"}, Pager: test.pager,
			}) {
				if failed != nil {
					t.Error("an error was not the last")
				}
				if err != nil {
					failed = err
					continue
				}
				if ids = append(ids, thread.ID); len(ids) == test.stop {
					break
				}
			}
			expect.Equal(t, strings.Join(ids, " "), test.ids, "threads")
			if test.code == "" && failed != nil || test.code != "" && !errors.Is(failed, test.code) {
				t.Errorf("error %v, want %q", failed, test.code)
			}
			if !reflect.DeepEqual(s.requests, test.want) {
				t.Errorf("asked\n%s\nwant\n%s", strings.Join(s.requests, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// leaving ends its context when it has answered.
type leaving struct {
	*script
	leave context.CancelFunc
}

func (l leaving) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer l.leave()
	return l.script.Do(ctx, r)
}

func TestPagersEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{replies: []reply{ok(`{"totalCount":4,"objects":[{"id":"a"},{"id":"b"}]}`)}}
	c := must.Get(visitor.New(visitor.Options{Token: ks, GenieURL: new(host), HTTPClient: fetch.As(leaving{s, cancel})}))(t)
	var got []string
	for thread, err := range c.AllThreads(ctx, visitor.ThreadQuery{}) {
		got = append(got, thread.ID)
		if err != nil {
			got = append(got, string(fault.From(err).Code))
		}
	}
	if strings.Join(got, " ") != "a b  aborted" || len(s.requests) != 1 {
		t.Errorf("%q after %d requests", got, len(s.requests))
	}
}

func TestAllMessagesPagesByFifty(t *testing.T) {
	c, s := newClient(t, visitor.Options{},
		ok(`{"totalCount":2,"objects":[{"id":"m-1"}]}`), ok(`{"totalCount":2,"objects":[{"id":"m-2"}]}`))
	all := c.AllMessages(t.Context(), visitor.MessageQuery{ThreadID: "t-1"})
	expect.Equal(t, len(s.requests), 0, "asked before anybody wanted a message")
	var ids []string
	for m, err := range all {
		must.Do(t, err)
		ids = append(ids, m.ID)
	}
	request := func(index int) string {
		return post("/message/list", fmt.Sprintf(
			`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":"t-1"},"pager":{"pageIndex":%d,"pageSize":50}}`, index))
	}
	if want := []string{request(1), request(2)}; !reflect.DeepEqual(s.requests, want) || strings.Join(ids, " ") != "m-1 m-2" {
		t.Errorf("messages %v, asked\n%s", ids, strings.Join(s.requests, "\n"))
	}
}
