package converse

import (
	"bufio"
	"bytes"
	"io"
)

const (
	// MaxLine bounds a line of a reply, in bytes, and so the content of a segment: a
	// long answer, the arguments of a tool and a widget may come whole.
	MaxLine = 1 << 20
	// readSize is how much is asked of the body at once: a segment is a few
	// hundred bytes.
	readSize = 8 << 10
)

// lines reads the lines of a reply, however its bytes are cut, in memory that
// does not grow beyond one line.
type lines struct {
	r      *bufio.Reader
	line   []byte
	begun  bool  // something was read
	broken error // of r, once it was met
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, readSize)} }

var (
	lineFeed      = []byte("\n")
	byteOrderMark = []byte("\xEF\xBB\xBF")
)

// next returns the next line without its line feed, valid until the next call.
// Of a line longer than [MaxLine] it returns the beginning, and long. What an
// error cuts off is lost, but the end of the reply ends a line too.
func (l *lines) next() (line []byte, long bool, err error) {
	l.line = l.line[:0]
	for l.broken == nil {
		text, readErr := l.r.ReadSlice('\n')
		part, ended := bytes.CutSuffix(text, lineFeed)
		if room := MaxLine - len(l.line); len(part) > room {
			part, long = part[:room], true
		}
		l.line = append(l.line, part...)
		if ended {
			return l.begin(), long, nil
		}
		if readErr != bufio.ErrBufferFull {
			l.broken = readErr
		}
	}
	if l.broken != io.EOF || len(l.line) == 0 {
		return nil, false, l.broken
	}
	return l.begin(), long, nil
}

// begin returns the line that was read, the first without its byte order mark.
func (l *lines) begin() []byte {
	if l.begun {
		return l.line
	}
	l.begun = true
	return bytes.TrimPrefix(l.line, byteOrderMark)
}

// The framings of a streamed reply. Each returns the JSON text of a line, empty
// if it has none.

// ndjson is wire-protocol §9.3.
func ndjson(line []byte) []byte { return bytes.TrimSpace(line) }

// sse is wire-protocol §9.4: only data lines count, and each is a whole object.
func sse(line []byte) []byte {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	data = bytes.TrimSpace(data)
	if !ok || string(data) == "[DONE]" {
		return nil
	}
	return data
}
