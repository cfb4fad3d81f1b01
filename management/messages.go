package management

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// Messages reads what was said (service.md, "Messages, feedback, followups"). A
// conversation or agent token ([WithToken]) gives access to what its user may read; a widget
// token fails with wrong_token_scope.
type Messages struct{ c *Client }

// Message is a message of a thread, or a shared copy of one.
type Message = visitor.Message

// MessageFilter selects messages that meet all conditions; a zero field is no condition.
type MessageFilter struct {
	ThreadID string   `json:"threadIdEquals,omitempty"`
	ID       string   `json:"idEquals,omitempty"`
	IDs      []string `json:"idsIn,omitempty"`
	// ConfigID is the intellect that answered.
	ConfigID int64 `json:"genieIdEquals,omitempty"`
	// Positive selects the messages with this rating.
	Positive *bool `json:"isPositiveEquals,omitempty"`
	// PositiveIn selects the messages with one of these ratings.
	PositiveIn  []bool    `json:"isPositiveIn,omitempty"`
	UserID      *string   `json:"userIdEquals,omitempty"`
	CreatedFrom time.Time `json:"createdAtGreaterThanOrEqual,omitzero"`
	CreatedTo   time.Time `json:"createdAtLessThanOrEqual,omitzero"`
	UpdatedFrom time.Time `json:"updatedAtGreaterThanOrEqual,omitzero"`
	UpdatedTo   time.Time `json:"updatedAtLessThanOrEqual,omitzero"`
	// OrderBy is +createdAt, -createdAt, +updatedAt or -updatedAt; default the order
	// of the conversation.
	OrderBy string `json:"orderBy,omitempty"`
}

// MessagePageSize is how many messages [Messages.List] requests at once by default
// (service.md, "Limits").
const MessagePageSize = 50

var (
	messageList = listing{
		endpoint: endpoint{at: appinit.Genie, path: "/message/list", scope: forUsers, again: harmless},
		size:     MessagePageSize,
	}
	messageReport = endpoint{at: appinit.Genie, path: "/message/report", again: harmless}
)

// typedMessageFilter is a filter with its type.
type typedMessageFilter struct {
	typed
	MessageFilter
}

func (f MessageFilter) typed() typedMessageFilter {
	return typedMessageFilter{typed{"GenieListMessageFilter"}, f}
}

// List iterates over the messages that f selects. Error: bad_request for an unknown order.
func (m Messages) List(ctx context.Context, f MessageFilter, opts ...Option) iter.Seq2[*Message, error] {
	return list[Message](ctx, m.c, messageList, query{Filter: f.typed()}, checkOrder(f.OrderBy), opts)
}

// Get reads a message. Errors: bad_request for an empty id, not_found or forbidden when it
// does not exist or can't be read.
func (m Messages) Get(ctx context.Context, id string) (*Message, error) {
	return pointer(m.c.visitor().Message(ctx, id))
}

// Share makes a copy of a message under a title of its own, which other users can read
// and which can't be deleted, and returns the copy's id. Errors: those of Get, and
// server_error when the service returns no id.
func (m Messages) Share(ctx context.Context, id, newTitle string, opts ...Option) (newMessageID string, err error) {
	shared, err := m.c.visitor(opts...).ShareMessage(ctx, id, newTitle)
	return shared.NewMessageID, err
}

// Report returns the messages that f selects as CSV: ids and names of users, questions
// and comments word for word, which are private. It needs an admin token. [PageSize] is the
// maximum number of messages; the default and the limit are 500.
func (m Messages) Report(ctx context.Context, f MessageFilter, opts ...Option) ([]byte, error) {
	s := settingsOf(opts)
	if err := cmp.Or(checkOrder(f.OrderBy), s.checkPageSize()); err != nil {
		return nil, err
	}
	var report fetch.Raw
	err := m.c.post(ctx, messageReport, query{Filter: f.typed(), Pager: indexPager{1, cmp.Or(s.pageSize, MaxPageSize)}}, &report)
	return report, err
}

// ReportSummary requests a report and computes its figures ([SummarizeReport]). It needs an
// admin token. [PageSize] is as for Report.
func (m Messages) ReportSummary(ctx context.Context, f MessageFilter, opts ...Option) (ReportSummary, error) {
	report, err := m.Report(ctx, f, opts...)
	if err != nil {
		return ReportSummary{}, err
	}
	summary, err := SummarizeReport(strings.NewReader(string(report)))
	if err != nil {
		return ReportSummary{}, err
	}
	size := cmp.Or(settingsOf(opts).pageSize, MaxPageSize)
	summary.Meta = m.c.meta(messageReport.path, "the first "+strconv.Itoa(size)+" messages that the filter selects")
	return summary, nil
}
