package management

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// topQuestions is how many questions a summary has.
const topQuestions = 10

// ReportSummary has the figures of a message report (service.md, "Messages, feedback,
// followups"). It contains no user ids or comments, but it contains questions in the words
// of users.
type ReportSummary struct {
	// Messages is the number of rows, Threads and Users are the numbers of different
	// threads and users in them.
	Messages int `json:"messages"`
	Threads  int `json:"threads"`
	Users    int `json:"users"`
	// Positive and Negative count the ratings.
	Positive int `json:"positive"`
	Negative int `json:"negative"`
	// FeedbackRatio is the part of the ratings that are positive, 0 to 1; nil when
	// nothing was rated.
	FeedbackRatio *float64 `json:"feedbackRatio"`
	// TopQuestions are the questions that were asked most often, at most 10.
	TopQuestions []QuestionCount `json:"topQuestions"`
	// Meta describes the origin of the figures.
	Meta Meta `json:"_meta"`
}

// QuestionCount is how often a question was asked. Questions that differ only in case,
// spaces and the punctuation at their end are counted as one.
type QuestionCount struct {
	Question string `json:"question"`
	Count    int    `json:"count"`
}

// Meta describes the origin of a result: the time, the partner and the source.
type Meta struct {
	Time      time.Time `json:"time"`
	PartnerID int64     `json:"partnerId"`
	// Source is the path of the request.
	Source string `json:"source"`
	// Scope describes what the result covers, as in "the first 500 messages".
	Scope string `json:"scope"`
}

// Columns of a report that the summary needs, with the names that they may have.
var reportColumns = map[string][]string{
	"thread":   {"thread_id", "threadid", "thread"},
	"user":     {"user_id", "userid", "user"},
	"question": {"question", "user_message", "query"},
	"rating":   {"is_positive", "ispositive", "rating", "feedback", "feedback_reaction"},
}

// SummarizeReport computes the figures of a report, which is CSV with a line of headers. It
// leaves Meta empty. The error is invalid_response for text that is not such a report.
func SummarizeReport(report io.Reader) (ReportSummary, error) {
	rows := csv.NewReader(report)
	rows.FieldsPerRecord = -1
	rows.ReuseRecord = true
	summary := ReportSummary{TopQuestions: []QuestionCount{}}
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return summary, nil
	}
	if err != nil {
		return summary, notReport(err)
	}
	columns := map[string]int{}
	for n, name := range header {
		name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), " ", "_"))
		for column, names := range reportColumns {
			if _, taken := columns[column]; !taken && slices.Contains(names, name) {
				columns[column] = n
			}
		}
	}
	if _, ok := columns["question"]; !ok {
		return summary, notReport(errors.New("the report has no column of questions"))
	}
	threads, users := map[string]bool{}, map[string]bool{}
	counts, shown := map[string]int{}, map[string]string{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return summary, notReport(err)
		}
		value := func(column string) string {
			if n, ok := columns[column]; ok && n < len(row) {
				return strings.TrimSpace(row[n])
			}
			return ""
		}
		summary.Messages++
		if thread := value("thread"); thread != "" {
			threads[thread] = true
		}
		if user := value("user"); user != "" {
			users[user] = true
		}
		switch strings.ToLower(value("rating")) {
		case "true", "1", "positive", "like":
			summary.Positive++
		case "false", "0", "negative", "dislike":
			summary.Negative++
		}
		if question := value("question"); question != "" {
			key := questionKey(question)
			counts[key]++
			if shown[key] == "" {
				shown[key] = question
			}
		}
	}
	summary.Threads, summary.Users = len(threads), len(users)
	if rated := summary.Positive + summary.Negative; rated > 0 {
		summary.FeedbackRatio = new(float64(summary.Positive) / float64(rated))
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, key := range keys[:min(len(keys), topQuestions)] {
		summary.TopQuestions = append(summary.TopQuestions, QuestionCount{shown[key], counts[key]})
	}
	return summary, nil
}

func notReport(err error) error {
	return fault.New(fault.InvalidResponse, "the report is not CSV with a line of headers").Because(err)
}

// questionKey is what equal questions have in common.
func questionKey(question string) string {
	words := strings.Join(strings.Fields(strings.ToLower(question)), " ")
	return strings.TrimRight(words, "?!. ")
}
