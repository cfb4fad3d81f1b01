package visitor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

func TestBadArgumentsAreNotSent(t *testing.T) {
	threads := func(f visitor.Filter, p visitor.Pager) func(context.Context, *visitor.Client) error {
		return func(ctx context.Context, c *visitor.Client) error {
			_, err := c.Threads(ctx, visitor.ThreadQuery{Filter: f, Pager: p})
			for _, again := range c.AllThreads(ctx, visitor.ThreadQuery{Filter: f, Pager: p}) {
				if again == nil || again.Error() != err.Error() {
					return fmt.Errorf("one page says %w, all say %w", err, again)
				}
			}
			return err
		}
	}
	messages := func(q visitor.MessageQuery) func(context.Context, *visitor.Client) error {
		return func(ctx context.Context, c *visitor.Client) error {
			_, err := c.Messages(ctx, q)
			return err
		}
	}
	filter := func(key string, value any) func(context.Context, *visitor.Client) error {
		return threads(visitor.Filter{key: value}, visitor.Pager{})
	}
	const threadKeys = "; the keys are agentIdEquals, contextIdEqual, createdAtGreaterThanOrEqual, createdAtLessThanOrEqual, " +
		"idEquals, idsIn, isEverywhere, orderBy, partnerIdEquals, statusEquals, statusIn, " +
		"updatedAtGreaterThanOrEqual, updatedAtLessThanOrEqual, userIdEquals"
	const messageKeys = "; the keys are createdAtGreaterThanOrEqual, createdAtLessThanOrEqual, genieIdEquals, idEquals, idsIn, " +
		"isPositiveEquals, isPositiveIn, orderBy, threadIdEquals, updatedAtGreaterThanOrEqual, updatedAtLessThanOrEqual, userIdEquals"
	text, list := " must be a string that is not empty", " must be a list of strings that are not empty"
	moment := " must be a time: RFC 3339 text or seconds since 1970"
	order := "filter.orderBy must be one of +createdAt, -createdAt, +updatedAt, -updatedAt"
	for _, test := range []struct {
		call   func(context.Context, *visitor.Client) error
		code   fault.Code
		detail string
	}{
		{filter("agentIdIn", []string{"a"}), fault.ValidationError, "there is no filter.agentIdIn; ask for each agent with agentIdEquals" + threadKeys},
		{filter("titleEquals", "x"), fault.ValidationError, "filter.titleEquals is an unknown key" + threadKeys},
		{filter("threadIdEquals", "t-1"), fault.ValidationError, "filter.threadIdEquals is an unknown key" + threadKeys},
		{filter("unknown", nil), fault.ValidationError, "filter.unknown is an unknown key" + threadKeys},
		{filter("agentIdEquals", ""), fault.ValidationError, "filter.agentIdEquals" + text},
		{filter("idEquals", 7), fault.ValidationError, "filter.idEquals" + text},
		{filter("contextIdEqual", []string{"x"}), fault.ValidationError, "filter.contextIdEqual" + text},
		{filter("statusEquals", ""), fault.ValidationError, "filter.statusEquals" + text},
		{filter("partnerIdEquals", ""), fault.ValidationError, "filter.partnerIdEquals must be a number or a string that is not empty"},
		{filter("userIdEquals", 5), fault.ValidationError, "filter.userIdEquals must be a string"},
		{filter("idsIn", []string{}), fault.ValidationError, "filter.idsIn" + list},
		{filter("idsIn", []string{"t-1", ""}), fault.ValidationError, "filter.idsIn" + list},
		{filter("idsIn", "t-1"), fault.ValidationError, "filter.idsIn" + list},
		{filter("statusIn", []any{1}), fault.ValidationError, "filter.statusIn" + list},
		{filter("isEverywhere", "yes"), fault.ValidationError, "filter.isEverywhere must be true or false"},
		{filter("createdAtGreaterThanOrEqual", ""), fault.ValidationError, "filter.createdAtGreaterThanOrEqual" + moment},
		{filter("createdAtLessThanOrEqual", true), fault.ValidationError, "filter.createdAtLessThanOrEqual" + moment},
		{filter("orderBy", "createdAt"), fault.ValidationError, order},
		{filter("orderBy", ""), fault.ValidationError, order},
		{filter("idEquals", func() {}), fault.ValidationError, "filter.idEquals" + text},
		{threads(nil, visitor.Pager{PageIndex: new(0)}), fault.ValidationError, "pager.pageIndex must be 1 or more"},
		{threads(nil, visitor.Pager{PageSize: new(0)}), fault.ValidationError, "pager.pageSize must be from 1 to 500"},
		{threads(nil, visitor.Pager{PageSize: new(501)}), fault.ValidationError, "pager.pageSize must be from 1 to 500"},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"agentIdEquals": "a"}}), fault.ValidationError, "filter.agentIdEquals is an unknown key" + messageKeys},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"threadIdEquals": ""}}), fault.ValidationError, "filter.threadIdEquals" + text},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"isPositiveIn": []any{"true"}}}), fault.ValidationError, "filter.isPositiveIn must be a list of true and false"},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"isPositiveEquals": 1}}), fault.ValidationError, "filter.isPositiveEquals must be true or false"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.Thread(ctx, ""); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.RenameThread(ctx, "", "x"); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.ClearAnalysis(ctx, ""); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error {
			_, err := c.SetAnalysis(ctx, "t-1", nil)
			return err
		}, fault.BadRequest, "values must have a key; clear the analysis to remove all"},
		{func(ctx context.Context, c *visitor.Client) error {
			_, err := c.SetAnalysis(ctx, "t-1", map[string]any{"f": func() {}})
			return err
		}, fault.BadRequest, "the body of the request must have a JSON form"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.DeleteThreads(ctx); return err }, fault.BadRequest, "an id of a thread is required"},
		{func(ctx context.Context, c *visitor.Client) error {
			_, err := c.DeleteThreads(ctx, "t-1", "")
			return err
		}, fault.BadRequest, "a thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.Transcript(ctx, ""); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.Message(ctx, ""); return err }, fault.BadRequest, "the message's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.ShareMessage(ctx, "", "x"); return err }, fault.BadRequest, "the message's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { return c.AddFeedback(ctx, "", true, "") }, fault.BadRequest, "the message's id is empty"},
	} {
		c, s := newClient(t, visitor.Options{})
		err := test.call(t.Context(), c)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != test.code || f.Detail != test.detail {
			t.Errorf("got %v\nwant %s: %s", err, test.code, test.detail)
		}
		expect.Equal(t, len(s.requests), 0, "%s requests", test.detail)
	}
}

func TestMessagesLeaveTheCallersFilterAlone(t *testing.T) {
	c, _ := newClient(t, visitor.Options{}, ok(`{"totalCount":0,"objects":[]}`))
	filter := visitor.Filter{"idEquals": "m-1"}
	must.Get(c.Messages(t.Context(), visitor.MessageQuery{ThreadID: "t-1", Filter: filter}))(t)
	if want := (visitor.Filter{"idEquals": "m-1"}); !reflect.DeepEqual(filter, want) {
		t.Errorf("filter %v", filter)
	}
}
