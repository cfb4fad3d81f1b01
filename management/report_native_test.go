//go:build !js

package management

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestSummarizeReport(t *testing.T) {
	const report = "message_id,thread_id,user_id,question,is_positive,comment\r\n" +
		"m1,t1,u1,\"What, exactly, is it?\",true,good\r\n" +
		"m2,t1,u1,what  exactly is it,,\r\n" +
		"m3,t2,u2,\"Multi\nline\",false,\r\n" +
		"m4,t2,u2,multi line?,true,\r\n" +
		"m5,t3,,,true\r\n"
	summary := must.Get(SummarizeReport(strings.NewReader(report)))(t)
	want := ReportSummary{
		Totals: ReportTotals{Messages: 5, Threads: 3}, Feedback: ReportFeedback{Positive: 3, Negative: 1, Unrated: 1, PositiveRatio: new(0.75)},
		TopQuestions: []QuestionCount{{"Multi\nline", 2}, {"what  exactly is it", 1}, {"What, exactly, is it?", 1}},
	}
	if !reflect.DeepEqual(summary, want) {
		t.Errorf("\n got %+v\nwant %+v", summary, want)
	}
}

func TestSummarizeReportOfNothing(t *testing.T) {
	for _, report := range []string{"", "question\n"} {
		summary, err := SummarizeReport(strings.NewReader(report))
		if err != nil || summary.Totals.Messages != 0 || summary.Feedback.PositiveRatio != nil || summary.TopQuestions == nil {
			t.Errorf("%q: %+v, %v", report, summary, err)
		}
	}
	for _, report := range []string{"<html>\n", "a,b\n1,2\n", "question\n\"open\n"} {
		expect.Fail(SummarizeReport(strings.NewReader(report)))(t, fault.InvalidResponse, "%q", report)
	}
}

func TestSummaryHasTheTopFive(t *testing.T) {
	var report strings.Builder
	report.WriteString("question\n")
	for n := range 30 {
		for range n + 1 {
			report.WriteString("question " + strings.Repeat("x", n) + "\n")
		}
	}
	summary, err := SummarizeReport(strings.NewReader(report.String()))
	if err != nil || len(summary.TopQuestions) != 5 || summary.TopQuestions[0].Count != 30 || summary.TopQuestions[4].Count != 26 {
		t.Errorf("%+v, %v", summary.TopQuestions, err)
	}
}

// TestReportIsWritten: the names of the columns as the service writes them, and those of the
// figures in JSON (management-api.md, F.8).
func TestReportIsWritten(t *testing.T) {
	summary := must.Get(SummarizeReport(strings.NewReader("\ufeffThread Id,User Id,Question,Feedback reaction\nt1,u1,Why?,Positive\nt1,u1,How?,1\nt2,u2,Why,0\n")))(t)
	summary.Meta = Meta{GeneratedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), PartnerID: 5501, Source: "/message/report", Scope: "all"}
	text, err := json.Marshal(summary)
	want := `{"totals":{"messages":3,"threads":2},"feedback":{"positive":2,"negative":1,"unrated":0,"positiveRatio":0.667},` +
		`"topQuestions":[{"question":"Why?","count":2},{"question":"How?","count":1}],` +
		`"_meta":{"generatedAt":"2026-01-02T03:04:05Z","partnerId":5501,"source":"/message/report","scope":"all"}}`
	if err != nil || string(text) != want {
		t.Errorf("\n got %s, %v\nwant %s", text, err, want)
	}
	var again ReportSummary
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, summary) {
		t.Errorf("read back %+v, %v", again, err)
	}
}

func TestParseCSV(t *testing.T) {
	for text, want := range map[string][]map[string]string{
		"":                        {},
		"\ufeffa,b\n":             {},
		"a,b\r\n1,2\r\n\r\n3\r\n": {{"a": "1", "b": "2"}, {"a": "3", "b": ""}},
		"\ufeff\"a\",b\n\"x \"\"y\"\"\nz\",\"1,2\",more\n": {{"a": "x \"y\"\nz", "b": "1,2"}},
	} {
		got, err := ParseCSV(strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	if _, err := ParseCSV(strings.NewReader("a\n\"open\n")); !errors.Is(err, fault.InvalidResponse) {
		t.Errorf("%v, want invalid_response", err)
	}
}
