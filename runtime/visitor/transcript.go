package visitor

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// A Transcript is a thread as plain text.
type Transcript struct {
	// Text has one turn per line: its role, a colon and its text.
	Text string `json:"text"`
	// Turns are the lines of Text.
	Turns []Turn `json:"turns"`
}

// Turn is one line of a transcript.
type Turn struct {
	// Role is human, ai or opening; empty for text in front of the first role.
	Role string `json:"role"`
	Text string `json:"text"`
}

// Transcript returns the transcript of a thread (protocol §9.10).
func (c *Client) Transcript(ctx context.Context, id string) (Transcript, error) {
	const path = "/v1/thread/get_transcripts"
	if err := required("the thread's id", id); err != nil {
		return Transcript{}, err
	}
	var reply struct {
		Data *string `json:"data"`
	}
	if err := c.personal(ctx, &fetch.Request{URL: path}, idBody{id}, &reply); err != nil {
		return Transcript{}, err
	}
	if reply.Data == nil {
		return Transcript{}, fault.New(fault.InvalidResponse, "the reply has no transcript").At(path)
	}
	return ParseTranscript(*reply.Data), nil
}

// ParseTranscript reads the turns of a transcript.
func ParseTranscript(text string) Transcript { return Transcript{text, turns(text)} }

// roles are the beginnings of lines of a transcript.
var roles = [...]string{"human", "ai", "opening"}

// turns reads the lines of a transcript. A line without a role belongs to the
// previous turn, whose text may have line breaks.
func turns(text string) []Turn {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\r\n")
	list := []Turn{}
	said, end := 0, -1 // where the last turn's text begins, and where the line ends
	for line := range strings.SplitSeq(text, "\n") {
		begin := end + 1
		end = begin + len(line)
		switch turn, ok := beginning(line); {
		case ok:
			list, said = append(list, turn), end-len(turn.Text)
		case len(list) > 0:
			list[len(list)-1].Text = text[said:end]
		case line != "":
			list, said = append(list, Turn{Text: line}), begin
		}
	}
	return list
}

// beginning splits the first line of a turn.
func beginning(line string) (Turn, bool) {
	for _, role := range roles {
		if said, ok := strings.CutPrefix(line, role+":"); ok {
			return Turn{role, strings.TrimPrefix(said, " ")}, true
		}
	}
	return Turn{}, false
}
