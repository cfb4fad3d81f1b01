package management

import (
	"encoding/json"
	"strings"
	"time"
)

// Meta describes the origin of a result (management-api.md, F.1, _meta).
type Meta struct {
	// GeneratedAt is the time of the result, UTC in whole seconds.
	GeneratedAt time.Time `json:"generatedAt"`
	PartnerID   int64     `json:"partnerId"`
	// Source is the path of the request.
	Source string `json:"source"`
	// Scope describes what the result covers, as in "intellect:7" or "the first 500
	// messages".
	Scope string `json:"scope"`
	// NoEffect is what a write has stored and the service does not use; the local service
	// says so.
	NoEffect []string `json:"noEffect,omitempty"`
}

// UnmarshalJSON reads the known fields. One of another form stays empty: no description of
// the service shows them, and they must not make a record unreadable.
func (m *Meta) UnmarshalJSON(data []byte) error {
	*m = Meta{}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields)
	for name, field := range map[string]any{
		"generatedAt": &m.GeneratedAt, "partnerId": &m.PartnerID, "source": &m.Source, "scope": &m.Scope, "noEffect": &m.NoEffect,
	} {
		_ = json.Unmarshal(fields[name], field)
	}
	return nil
}

// Receipt is the part of a record that a create or an update returns. A record that was read
// has none.
type Receipt struct {
	// Meta describes the write; nil in a record that was read.
	Meta *Meta `json:"_meta,omitempty"`
}

// stamp completes the receipt of a write.
func (r *Receipt) stamp(m Meta) {
	if r.Meta != nil {
		m.NoEffect = r.Meta.NoEffect
	}
	r.Meta = &m
}

func (c *Client) meta(source, scope string) Meta {
	return Meta{GeneratedAt: time.Now().UTC().Truncate(time.Second), PartnerID: c.partnerID, Source: source, Scope: scope}
}

// receipt is the origin of a record that a call has written: the path names the kind of the
// record before the action, as in /v1/intellect/update.
func (c *Client) receipt(path, id string) Meta {
	kind := path[:strings.LastIndex(path, "/")]
	return c.meta(path, kind[strings.LastIndex(kind, "/")+1:]+":"+id)
}
