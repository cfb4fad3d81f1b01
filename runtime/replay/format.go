package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Version is the version of the format. A reader refuses a newer one.
const Version = 1

// The files of a recording. The agent's sound and picture are in files of their own, which lines
// of EventsFile name: more than one if the service changed the codec.
const (
	EventsFile     = "events.jsonl"
	TurnsFile      = "turns.json"
	CaptionsFile   = "captions.vtt"
	MicrophoneFile = "microphone.ogg"
)

// Header is the first line of [EventsFile].
type Header struct {
	Version int       `json:"version"`
	Started time.Time `json:"started"`
	// Redacted reports that secrets were removed from the events.
	Redacted bool `json:"redacted"`
}

// Entry is a later line of [EventsFile]: an event, or the beginning of a file of sound or pictures.
type Entry struct {
	// At is the time since the beginning, in milliseconds.
	At int64 `json:"t"`
	// Event and Data are the name of an event, as in docs/events.md, and its payload.
	Event string          `json:"event,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	// File is the name of a file whose first frame is at this time.
	File string `json:"file,omitempty"`
}

// Turn is one turn of the conversation, in [TurnsFile]. Times are in milliseconds since the
// beginning.
type Turn struct {
	By      string `json:"by"` // "visitor" or "agent"
	Text    string `json:"text"`
	StartMs int64  `json:"startMs"`
	EndMs   int64  `json:"endMs"`
	// Interrupted reports that the visitor interrupted the agent.
	Interrupted bool       `json:"interrupted,omitempty"`
	Tools       []ToolCall `json:"tools,omitempty"`
	Widgets     []string   `json:"widgets,omitempty"` // their runtimes
}

// ToolCall is a call of a client tool in a [Turn].
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Recording is what [EventsFile] has.
type Recording struct {
	Header
	Entries []Entry
}

// maxLine bounds a line of [EventsFile].
const maxLine = 16 << 20

// Open reads the recording of a folder, such as os.DirFS(dir), or of a zip file. Error:
// validation_error for one that is not complete or has another format.
func Open(folder fs.FS) (*Recording, error) {
	f, err := folder.Open(EventsFile)
	if err != nil {
		return nil, refused(err)
	}
	defer f.Close()
	return Read(f)
}

// Read reads [EventsFile]. Error: validation_error. The last line may be cut off, as when the recording
// program was killed.
func Read(r io.Reader) (*Recording, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	rec := &Recording{}
	if !lines.Scan() {
		return nil, refused(errors.Join(lines.Err(), errors.New("the file is empty")))
	}
	if err := json.Unmarshal(lines.Bytes(), &rec.Header); err != nil || rec.Version < 1 {
		return nil, refused(errors.New("the first line has no version"))
	}
	if rec.Version > Version {
		return nil, refused(fmt.Errorf("its version is %d, and this program reads up to %d", rec.Version, Version))
	}
	var broken error
	for n := 2; lines.Scan(); n++ {
		if broken != nil {
			return nil, refused(broken)
		}
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			broken = fmt.Errorf("line %d: %w", n, err) // allowed in the last line
			continue
		}
		rec.Entries = append(rec.Entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, refused(err)
	}
	return rec, nil
}

func refused(err error) error {
	return fault.New(fault.ValidationError, "the recording can't be read").Wrap(err)
}
