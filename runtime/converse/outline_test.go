package converse

const (
	ndjsonType = "application/x-ndjson; charset=utf-8"
	sseType    = "text/event-stream"
)

// outline is a short form of segments: type, subtype and content.
func outline(segments []Segment) []string {
	var lines []string
	for i := range segments {
		line := string(segments[i].Type)
		if m := segments[i].Metadata; m != nil && m.Subtype != "" {
			line += "/" + m.Subtype
		}
		lines = append(lines, line+" "+segments[i].ContentString())
	}
	return lines
}
