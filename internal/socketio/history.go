//go:build !js

package socketio

import "strconv"

const (
	// maxHistoryEvents and maxHistoryBytes bound what is kept for one session's
	// recovery. Beyond them the oldest events are forgotten, and a client that
	// has missed those can't be recovered.
	maxHistoryEvents = 1024
	maxHistoryBytes  = 4 << 20
)

// history is what a session has sent and the client may have missed
// (wire-protocol §1.9.5). Events are numbered from 1; the number is the offset.
type history struct {
	kept  []kept // the events base+1 … last
	base  uint64
	last  uint64
	bytes int
}

type kept struct {
	frames []frame
	size   int
}

// next returns the offset of the event that is about to be sent.
func (h *history) next() uint64 { return h.last + 1 }

// add keeps the event that next has numbered.
func (h *history) add(frames []frame) {
	k := kept{frames: frames}
	for _, f := range frames {
		k.size += len(f.data)
	}
	h.kept = append(h.kept, k)
	h.bytes += k.size
	h.last++
	for len(h.kept) > maxHistoryEvents || h.bytes > maxHistoryBytes {
		h.forget(h.base + 1)
	}
}

// forget drops the events up to offset: the client has them.
func (h *history) forget(offset uint64) {
	for h.base < offset && len(h.kept) > 0 {
		h.bytes -= h.kept[0].size
		h.kept[0] = kept{}
		h.kept = h.kept[1:]
		h.base++
	}
}

// since returns what follows the client's last offset, in order; "" means that
// it has seen nothing. It fails for an offset that was never given out or whose
// successors are forgotten.
func (h *history) since(offset string) ([]kept, bool) {
	var seen uint64
	if offset != "" {
		var err error
		if seen, err = strconv.ParseUint(offset, 10, 64); err != nil {
			return nil, false
		}
	}
	if seen < h.base || seen > h.last {
		return nil, false
	}
	return h.kept[seen-h.base:], true
}

// offsetText is how an offset travels.
func offsetText(offset uint64) string { return strconv.FormatUint(offset, 10) }
