//go:build !js

package management

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestSummarizeReport(t *testing.T) {
	const report = "message_id,thread_id,user_id,question,is_positive,comment\r\n" +
		"m1,t1,u1,\"What, exactly, is it?\",true,good\r\n" +
		"m2,t1,u1,what  exactly is it,,\r\n" +
		"m3,t2,u2,\"Multi\nline\",false,\r\n" +
		"m4,t2,u2,multi line?,true,\r\n" +
		"m5,t3,,,true\r\n"
	summary, err := SummarizeReport(strings.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	want := ReportSummary{
		Messages: 5, Threads: 3, Users: 2, Positive: 3, Negative: 1, FeedbackRatio: new(0.75),
		TopQuestions: []QuestionCount{{"Multi\nline", 2}, {"what  exactly is it", 1}, {"What, exactly, is it?", 1}},
	}
	if !reflect.DeepEqual(summary, want) {
		t.Errorf("\n got %+v\nwant %+v", summary, want)
	}
}

// TestReportColumns: the names of columns that the service is known to use.
func TestReportColumns(t *testing.T) {
	summary, err := SummarizeReport(strings.NewReader("Thread Id,User Id,Question,Feedback reaction\nt1,u1,Why?,Positive\nt1,u1,How?,0\nt2,u2,Why,\n"))
	if err != nil || summary.Threads != 2 || summary.Users != 2 || summary.Positive != 1 || summary.Negative != 1 || summary.TopQuestions[0].Count != 2 {
		t.Errorf("%+v, %v", summary, err)
	}
}

func TestSummarizeReportOfNothing(t *testing.T) {
	for _, report := range []string{"", "question\n"} {
		summary, err := SummarizeReport(strings.NewReader(report))
		if err != nil || summary.Messages != 0 || summary.FeedbackRatio != nil || summary.TopQuestions == nil {
			t.Errorf("%q: %+v, %v", report, summary, err)
		}
	}
	for _, report := range []string{"<html>\n", "a,b\n1,2\n", "question\n\"open\n"} {
		if _, err := SummarizeReport(strings.NewReader(report)); !errors.Is(err, fault.InvalidResponse) {
			t.Errorf("%q: %v, want invalid_response", report, err)
		}
	}
}

func TestSummaryHasTheTopTen(t *testing.T) {
	var report strings.Builder
	report.WriteString("question\n")
	for n := range 30 {
		for range n + 1 {
			report.WriteString("question " + strings.Repeat("x", n) + "\n")
		}
	}
	summary, err := SummarizeReport(strings.NewReader(report.String()))
	if err != nil || len(summary.TopQuestions) != 10 || summary.TopQuestions[0].Count != 30 || summary.TopQuestions[9].Count != 21 {
		t.Errorf("%+v, %v", summary.TopQuestions, err)
	}
}
