package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// metaView is the receipt in the reply of a write (management-api.md, F.1). Notes say what
// of the write has no effect on this service.
type metaView struct {
	GeneratedAt string   `json:"generatedAt,omitempty"` // to the second
	PartnerID   int64    `json:"partnerId,omitempty"`
	Source      string   `json:"source,omitempty"`
	Scope       string   `json:"scope,omitempty"`
	Notes       []string `json:"notes,omitempty"`
}

// noted is a reply with notes for its receipt.
type noted struct {
	reply any
	notes []string
}

// note adds notes to a reply; "" is no note.
func note(reply any, err error, notes ...string) (any, error) {
	n := noted{reply: reply}
	for _, text := range notes {
		if text != "" {
			n.notes = append(n.notes, text)
		}
	}
	return n, err
}

// writes are the last parts of the paths of calls that store something. A delete has no
// receipt: it replies with the id of what was deleted, or with null.
var writes = map[string]bool{"create": true, "add": true, "update": true, "clone": true}

// receipted adds a receipt to the reply of a write.
func receipted(path string, handle func(*call) (any, error)) func(*call) (any, error) {
	if !writes[path[strings.LastIndex(path, "/")+1:]] {
		return handle
	}
	return func(c *call) (any, error) {
		reply, err := handle(c)
		if err != nil {
			return nil, err
		}
		meta := metaView{
			GeneratedAt: time.Now().UTC().Format("2006-01-02T15:04:05Z"), PartnerID: c.claims.PartnerID,
			Source: path, Scope: string(c.claims.Kind()),
		}
		if n, ok := reply.(noted); ok {
			reply, meta.Notes = n.reply, n.notes
		}
		return withReceipt(reply, meta)
	}
}

// withReceipt appends a receipt to a reply that is an object; another one stays as it is.
func withReceipt(reply any, meta metaView) (any, error) {
	text, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	fields, isObject := bytes.CutSuffix(text, []byte("}"))
	if !isObject {
		return reply, nil
	}
	receipt, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	if len(fields) > len("{") {
		fields = append(fields, ',')
	}
	return json.RawMessage(bytes.Join([][]byte{fields, []byte(`"_meta":`), receipt, []byte("}")}, nil)), nil
}

// manage adds the endpoint of a management call to a mux. All of them need an admin
// token.
func (s *server) manage(mux *http.ServeMux, path string, handle func(*call) (any, error)) {
	mux.Handle("POST "+path, s.route(admins, receipted(path, handle)))
}
