package management

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Sizes of pages (service.md "Limits").
const (
	// DefaultPageSize is how many objects a list requests at once.
	DefaultPageSize = 30
	// MaxPageSize is the most that may be requested at once.
	MaxPageSize = 500
)

// samePages is how many successive pages may begin with the same object. Two may when
// objects are added between requests; more mean that the service ignores the pager.
const samePages = 2

// listing is one of the service's lists.
type listing struct {
	endpoint
	// size is the default size of a page; 0 means DefaultPageSize.
	size int
}

// query is the body of a request for a page of a listing.
type query struct {
	Filter  any    `json:"filter,omitempty"` // nil means everything
	OrderBy string `json:"orderBy,omitempty"`
	Pager   any    `json:"pager"`
	// omitFilter is set for lists that take no filter.
	omitFilter bool
}

// offsetPager and indexPager are the two ways to name a page (service.md "Endpoints"):
// the agent host and the messaging host take the first, the conversation host the second.
type (
	offsetPager struct {
		Offset int `json:"offset"`
		Limit  int `json:"limit"`
	}
	indexPager struct {
		PageIndex int `json:"pageIndex"` // from 1
		PageSize  int `json:"pageSize"`
	}
)

// list iterates over a list. bad is the error of an invalid filter, or nil; the caller checks
// the filter.
func list[T any](ctx context.Context, c *Client, l listing, q query, bad error, opts []Option) iter.Seq2[*T, error] {
	if q.Filter == nil && !q.omitFilter {
		q.Filter = struct{}{}
	}
	return pages[T](l.path, l.size, bad, opts, func(index, seen, size int) (page, error) {
		// Where the service numbers pages, they are counted, not computed from the
		// objects seen, because a page may have fewer objects than requested.
		if q.Pager = (indexPager{index, size}); l.at != appinit.Genie {
			q.Pager = offsetPager{seen, size}
		}
		var reply page
		err := c.post(ctx, l.endpoint, q, &reply)
		return reply, err
	})
}

// page is a part of a list, and how many objects the whole list has.
type page struct {
	TotalCount int               `json:"totalCount"`
	Objects    []json.RawMessage `json:"objects"`
}

// pages iterates over the objects of a list, requesting one page at a time, and ends after the
// first error, such as bad. get returns the page with that index, from 1, before which so many
// objects were seen.
func pages[T any](path string, usual int, bad error, opts []Option, get func(index, seen, size int) (page, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		s := settingsOf(opts)
		if err := cmp.Or(bad, s.checkPageSize()); err != nil {
			yield(nil, err)
			return
		}
		size := cmp.Or(s.pageSize, usual, DefaultPageSize)
		var begins []byte
		same, seen := 0, 0
		for index := 1; ; index++ {
			page, err := get(index, seen, size)
			if err == nil && page.Objects == nil {
				err = fault.New(fault.InvalidResponse, "the reply has no objects").At(path)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page.Objects) == 0 {
				return
			}
			if !bytes.Equal(page.Objects[0], begins) {
				begins, same = page.Objects[0], 0
			}
			if same++; same > samePages {
				yield(nil, fault.New(fault.InvalidResponse, "the service returns the same page again and again").At(path))
				return
			}
			for _, data := range page.Objects {
				object := new(T)
				if err := json.Unmarshal(data, object); err != nil {
					yield(nil, fault.New(fault.InvalidResponse, "").At(path).Wrap(err))
					return
				}
				if !yield(object, nil) {
					return
				}
			}
			if seen += len(page.Objects); seen == page.TotalCount {
				return
			}
		}
	}
}

// First returns the first object of a list, and not_found for an empty one. It requests
// one page.
func First[T any](objects iter.Seq2[*T, error]) (*T, error) {
	for object, err := range objects {
		return object, err
	}
	return nil, fault.New(fault.NotFound, "the list is empty")
}

// Collect returns all objects of a list, or the first error. A loop over the list needs
// less memory.
func Collect[T any](objects iter.Seq2[*T, error]) ([]*T, error) {
	var all []*T
	for object, err := range objects {
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}
