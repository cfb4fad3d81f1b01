package media

import (
	"fmt"
	"strings"

	"github.com/pion/ice/v4"
)

// Bounds of the candidates of one peer.
const (
	maxCandidates = 256
	maxCandidate  = 1024 // bytes
)

var errCandidates = fmt.Errorf("media: more than %d candidates, or one longer than %d bytes", maxCandidates, maxCandidate)

// candidates counts the candidates of a client, none of which is used: see the package comment.
type candidates int

// take checks a candidate; an empty one marks their end.
func (c *candidates) take(candidate string) error {
	if *c++; *c > maxCandidates || len(candidate) > maxCandidate {
		return errCandidates
	}
	if candidate == "" {
		return nil
	}
	if _, err := ice.UnmarshalCandidate(strings.TrimPrefix(candidate, "candidate:")); err != nil {
		return fmt.Errorf("media: candidate: %w", err)
	}
	return nil
}

// candidatesIn lists the candidates of the first section of a description; all sections are bundled.
func candidatesIn(description string) []string {
	var candidates []string
	for line := range strings.SplitSeq(description, "\r\n") {
		// Component 2 would be RTCP on a port of its own.
		if rest, ok := strings.CutPrefix(line, "a="); ok && strings.HasPrefix(rest, "candidate:") && strings.Contains(rest, " 1 udp ") {
			candidates = append(candidates, rest)
		}
	}
	return candidates
}
