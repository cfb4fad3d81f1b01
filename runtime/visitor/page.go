package visitor

import (
	"context"
	"iter"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Sizes of pages (service.md "Limits", protocol §9.10).
const (
	// ThreadPageSize is the default number of threads on a page.
	ThreadPageSize = 30
	// MessagePageSize is the default number of messages on a page.
	MessagePageSize = 50
	// MaxPageSize is the largest page size.
	MaxPageSize = 500
)

// samePages is how many successive pages may begin with the same object. Two may when
// objects are added between requests; more mean that the service ignores the page
// number.
const samePages = 2

// Pager selects a page of a list.
type Pager struct {
	// PageIndex is the number of the page, from 1, which is the default.
	PageIndex *int `json:"pageIndex"`
	// PageSize is 1 to 500. Default 30 threads, 50 messages.
	PageSize *int `json:"pageSize"`
}

// Page is a part of a list.
type Page[T any] struct {
	// TotalCount is the number of objects on all pages.
	TotalCount int `json:"totalCount"`
	Objects    []T `json:"objects"`
}

// listing is one of the service's lists.
type listing struct {
	path       string
	objectType string
	keys       map[string]rule
	pageSize   int
}

// listBody is the body of every list, with its defaults filled in.
type listBody struct {
	Filter map[string]any `json:"filter"`
	Pager  struct {
		PageIndex int `json:"pageIndex"`
		PageSize  int `json:"pageSize"`
	} `json:"pager"`
}

func (l *listing) body(f Filter, p Pager) (b listBody, err error) {
	if b.Filter, err = f.merge(l.objectType, l.keys); err != nil {
		return b, err
	}
	b.Pager.PageIndex, b.Pager.PageSize = 1, l.pageSize
	if p.PageIndex != nil {
		b.Pager.PageIndex = *p.PageIndex
	}
	if p.PageSize != nil {
		b.Pager.PageSize = *p.PageSize
	}
	if b.Pager.PageIndex < 1 {
		return b, fault.New(fault.ValidationError, "pager.pageIndex must be 1 or more")
	}
	if b.Pager.PageSize < 1 || b.Pager.PageSize > MaxPageSize {
		return b, fault.New(fault.ValidationError, "pager.pageSize must be from 1 to "+strconv.Itoa(MaxPageSize))
	}
	return b, nil
}

// page requests the page of l that b names.
func page[T any](ctx context.Context, c *Client, l *listing, b listBody) (Page[T], error) {
	var p Page[T]
	err := c.personal(ctx, &fetch.Request{URL: l.path}, b, &p)
	if err == nil {
		err = p.check(l.path)
	}
	return p, err
}

// check rejects a reply that is not a list, which would look like an empty list.
func (p *Page[T]) check(path string) error {
	if p.Objects == nil {
		return fault.New(fault.InvalidResponse, "the reply has no objects").At(path)
	}
	return nil
}

// all requests one page after the other as needed. It ends after TotalCount objects, or
// at an empty page if the count is too high.
func all[T interface{ key() string }](ctx context.Context, c *Client, l *listing, f Filter, p Pager) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		body, err := l.body(f, p)
		if err != nil {
			yield(none, err)
			return
		}
		// Counted rather than computed from the page's number, because a page may
		// have fewer objects than requested.
		seen := (body.Pager.PageIndex - 1) * body.Pager.PageSize
		begins, same := "", 0
		for ; ; body.Pager.PageIndex++ {
			part, err := page[T](ctx, c, l, body)
			if err != nil {
				yield(none, err)
				return
			}
			if len(part.Objects) == 0 {
				return
			}
			if first := part.Objects[0].key(); first != begins {
				begins, same = first, 0
			}
			if same++; same > samePages {
				yield(none, fault.New(fault.InvalidResponse, "the service returns the same page again and again").At(l.path))
				return
			}
			for _, object := range part.Objects {
				if !yield(object, nil) {
					return
				}
			}
			if seen += len(part.Objects); seen == part.TotalCount {
				return
			}
		}
	}
}
