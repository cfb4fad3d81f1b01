package management

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// topQuestions is how many questions a summary has.
const topQuestions = 5

// ReportSummary has the figures of a message report (management-api.md, F.8). It contains no
// user ids or comments, but it contains questions in the words of users.
type ReportSummary struct {
	Totals   ReportTotals   `json:"totals"`
	Feedback ReportFeedback `json:"feedback"`
	// TopQuestions are the questions that were asked most often, at most 5.
	TopQuestions []QuestionCount `json:"topQuestions"`
	// Meta describes the origin of the figures.
	Meta Meta `json:"_meta"`
}

// ReportTotals are the number of rows of a report, and of different threads in them.
type ReportTotals struct {
	Messages int `json:"messages"`
	Threads  int `json:"threads"`
}

// ReportFeedback counts the ratings of a report.
type ReportFeedback struct {
	Positive int `json:"positive"`
	Negative int `json:"negative"`
	Unrated  int `json:"unrated"`
	// PositiveRatio is the part of the ratings that are positive, 0 to 1 with three decimals;
	// nil when nothing was rated.
	PositiveRatio *float64 `json:"positiveRatio"`
}

// QuestionCount is how often a question was asked. Questions that differ only in case,
// spaces and the punctuation at their end are counted as one.
type QuestionCount struct {
	Question string `json:"question"`
	Count    int    `json:"count"`
}

// Columns of a report that the summary needs, with the names that they may have.
var reportColumns = map[string][]string{
	"thread":   {"thread_id", "threadid", "thread"},
	"question": {"question", "user_message", "query"},
	"rating":   {"is_positive", "ispositive", "rating", "feedback", "feedback_reaction"},
}

// SummarizeReport computes the figures of a report, which is CSV with a line of headers. It
// leaves Meta empty. The error is invalid_response for text that is not such a report.
func SummarizeReport(report io.Reader) (ReportSummary, error) {
	rows := newCSV(report)
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
		name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), " ", "_"))
		for column, names := range reportColumns {
			if _, taken := columns[column]; !taken && slices.Contains(names, name) {
				columns[column] = n
			}
		}
	}
	if _, ok := columns["question"]; !ok {
		return summary, notReport(errors.New("the report has no column of questions"))
	}
	threads := map[string]bool{}
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
		summary.Totals.Messages++
		if thread := value("thread"); thread != "" {
			threads[thread] = true
		}
		switch strings.ToLower(value("rating")) {
		case "true", "1", "positive", "like":
			summary.Feedback.Positive++
		case "false", "0", "negative", "dislike":
			summary.Feedback.Negative++
		default:
			summary.Feedback.Unrated++
		}
		if question := value("question"); question != "" {
			key := questionKey(question)
			counts[key]++
			if shown[key] == "" {
				shown[key] = question
			}
		}
	}
	summary.Totals.Threads = len(threads)
	if rated := summary.Feedback.Positive + summary.Feedback.Negative; rated > 0 {
		summary.Feedback.PositiveRatio = new(math.Round(float64(summary.Feedback.Positive)/float64(rated)*1000) / 1000)
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, key := range keys[:min(len(keys), topQuestions)] {
		summary.TopQuestions = append(summary.TopQuestions, QuestionCount{shown[key], counts[key]})
	}
	return summary, nil
}

// newCSV reads rows of any length. A byte order mark at the beginning is left out.
func newCSV(text io.Reader) *csv.Reader {
	in := bufio.NewReader(text)
	if mark, _ := in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // they have been read
	}
	rows := csv.NewReader(in)
	rows.FieldsPerRecord = -1
	return rows
}

const byteOrderMark = "\ufeff"

// ParseCSV reads CSV with a line of headers, such as that of [Messages.Report], into one map
// for each row (management-api.md, F.8). A missing value is ""; empty lines are left out. The
// error is invalid_response for text that is not CSV.
func ParseCSV(text io.Reader) ([]map[string]string, error) {
	lines, err := newCSV(text).ReadAll()
	if err != nil {
		return nil, notReport(err)
	}
	list := []map[string]string{}
	for n, line := range lines {
		if n == 0 {
			continue
		}
		row := map[string]string{}
		for column, name := range lines[0] {
			row[name] = ""
			if column < len(line) {
				row[name] = line[column]
			}
		}
		list = append(list, row)
	}
	return list, nil
}

func notReport(err error) error {
	return fault.New(fault.InvalidResponse, "the report is not CSV with a line of headers").Wrap(err)
}

// questionKey is what equal questions have in common.
func questionKey(question string) string {
	words := strings.Join(strings.Fields(strings.ToLower(question)), " ")
	return strings.TrimRight(words, "?!. ")
}
