package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Difference is one difference between two recordings.
type Difference struct {
	// After is the visitor's turn in whose answer the difference is; "" before the first one.
	After string
	// Want is what the first recording has there, Got what the second one has; "" is nothing.
	Want, Got string
}

func (d Difference) String() string {
	where := "at the beginning"
	if d.After != "" {
		where = fmt.Sprintf("after %q", d.After)
	}
	switch {
	case d.Got == "":
		return where + ": missing: " + d.Want
	case d.Want == "":
		return where + ": unexpected: " + d.Got
	}
	return where + ": " + d.Want + "\n\tbecame " + d.Got
}

// Diff compares what two conversations mean: the turns of the visitor, the agent's sentences, tool calls and their results,
// widgets, interruptions, questions for consent, errors and warnings, in their order. Times, ids, connections, how an
// answer was cut into pieces, what the agent did while a tool ran, and how far it came before it was interrupted are left
// out, because no two runs have the same: a result follows its call, and the beginning of an answer is the same as the
// whole of it.
func Diff(want, got *Recording) []Difference {
	a, b := want.facts(), got.facts()
	// The longest common sequence: common[i][j] is its length from a[i] and b[j] on.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].same(b[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var found []Difference
	after := ""
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i].same(b[j]) {
			if text, ok := strings.CutPrefix(a[i].text, visitorSays); ok {
				after = text
			}
			i, j = i+1, j+1
			continue
		}
		var missing, extra []fact
		for i < len(a) || j < len(b) {
			if i < len(a) && j < len(b) && a[i].same(b[j]) {
				break
			}
			if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
				missing = append(missing, a[i])
				i++
			} else {
				extra = append(extra, b[j])
				j++
			}
		}
		found = append(found, pair(after, missing, extra)...)
	}
	return found
}

// pair joins what is missing with what came in its place.
func pair(after string, missing, extra []fact) (found []Difference) {
	for _, m := range missing {
		d := Difference{After: after, Want: m.text}
		if k := slices.IndexFunc(extra, func(e fact) bool { return e.kind == m.kind }); k >= 0 {
			d.Got = extra[k].text
			extra = slices.Delete(extra, k, k+1)
		}
		found = append(found, d)
	}
	for _, e := range extra {
		found = append(found, Difference{After: after, Got: e.text})
	}
	return found
}

// fact is what an event means.
type fact struct {
	kind, text string
	tool       string // name in a call or a result
	cut        bool   // an answer that was interrupted
}

func (f fact) same(g fact) bool {
	begins := f.cut && strings.HasPrefix(g.text, f.text) || g.cut && strings.HasPrefix(f.text, g.text)
	return f.kind == g.kind && f.tool == g.tool && (f.text == g.text || begins)
}

// visitorSays begins the text of the visitor's turn.
const visitorSays = "visitor: "

func (r *Recording) facts() []fact {
	var all []fact
	for _, e := range r.Entries {
		f, ok := factOf(e)
		if !ok {
			continue
		}
		if n := len(all) - 1; n >= 0 && f.kind == "agent" && all[n].kind == "agent" { // the next sentence or piece
			all[n].text += f.text
			continue
		}
		at := len(all)
		switch f.kind {
		case "toolCallResult":
			at = afterCall(all, f.tool)
		case "interrupted":
			cutAnswer(all)
		}
		all = slices.Insert(all, at, f)
	}
	for i := range all {
		if all[i].kind == "agent" {
			all[i].text = "agent: " + strings.TrimSpace(all[i].text)
		}
	}
	return all
}

// afterCall returns the place of a tool's next result: after its last call that has none, or else the end.
func afterCall(all []fact, tool string) int {
	for i, f := range slices.Backward(all) {
		answered := i+1 < len(all) && all[i+1].kind == "toolCallResult"
		if f.kind == "toolCall" && f.tool == tool && !answered {
			return i + 1
		}
	}
	return len(all)
}

// cutAnswer marks the answer to the visitor's last turn.
func cutAnswer(all []fact) {
	for i, f := range slices.Backward(all) {
		switch f.kind {
		case "agent":
			all[i].cut = true
			return
		case "visitor":
			return
		}
	}
}

func factOf(e Entry) (fact, bool) {
	var p struct {
		payload
		OK      bool            `json:"ok"`
		Value   json.RawMessage `json:"value"`
		Code    string          `json:"code"`
		Content any             `json:"content"`
		Tool    string          `json:"toolName"`
		Errors  []string        `json:"errors"`
		Call    payload         `json:"call"`
	}
	if json.Unmarshal(e.Data, &p) != nil {
		return fact{}, false
	}
	switch e.Event {
	case "transcript":
		switch p.Type {
		case "user":
			return fact{kind: "visitor", text: visitorSays + p.Text}, true
		case "final":
			if p.SpeechID != nil { // a sentence; an answer in text comes in pieces that may end in a word
				p.Text = " " + strings.TrimSpace(p.Text)
			}
			return fact{kind: "agent", text: p.Text}, true
		}
	case "toolCall":
		return fact{kind: e.Event, text: "tool call: " + p.Name + " " + converse.Canonical(p.Args), tool: p.Name}, true
	case "toolCallInvalid":
		return fact{kind: e.Event, text: "invalid tool call: " + p.Call.Name + ": " + strings.Join(p.Errors, "; ")}, true
	case "toolCallResult":
		if !p.OK {
			return fact{kind: e.Event, text: "failed tool: " + p.Call.Name, tool: p.Call.Name}, true
		}
		return fact{kind: e.Event, text: "tool result: " + p.Call.Name + " " + converse.Canonical(p.Value), tool: p.Call.Name}, true
	case "widget":
		return fact{kind: e.Event, text: "widget: " + p.Runtime + " " + withoutIDs(e.Data)}, true
	case "interrupted":
		return fact{kind: e.Event, text: "interrupted"}, true
	case "oauthRequired":
		return fact{kind: e.Event, text: "consent is asked for " + p.Tool}, true
	case "warning", "error":
		return fact{kind: e.Event, text: e.Event + ": " + p.Code}, true
	case "brainSegment":
		if p.Type == "error" {
			return fact{kind: "failure", text: fmt.Sprint("the turn failed: ", p.Content)}, true
		}
	}
	return fact{}, false
}

// withoutIDs returns the payload of a widget without the ids of its run.
func withoutIDs(text json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(text, &members) != nil {
		return string(text)
	}
	delete(members, "speechId")
	delete(members, "runtime")
	sorted, _ := json.Marshal(members)
	return string(sorted)
}
