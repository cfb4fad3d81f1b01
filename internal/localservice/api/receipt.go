package api

import (
	"encoding/json"
	"strings"
	"time"
)

// metaView is the part _meta of a reply: the receipt of a write (management-api.md, F.1), and
// how this service differs from the real one.
type metaView struct {
	GeneratedAt string   `json:"generatedAt,omitempty"` // to the second
	PartnerID   int64    `json:"partnerId,omitempty"`
	Source      string   `json:"source,omitempty"`
	Scope       string   `json:"scope,omitempty"`
	NoEffect    []string `json:"noEffect,omitempty"` // what was asked for or stored, and has no effect here
}

// noted is a reply with what has no effect, for its receipt.
type noted struct {
	reply    any
	noEffect []string
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
			reply, meta.NoEffect = n.reply, n.noEffect
		}
		return withReceipt(reply, meta)
	}
}

// withReceipt adds a receipt to a reply that is an object; another one stays as it is. What
// the reply has in its _meta already is kept.
func withReceipt(reply any, meta metaView) (any, error) {
	text, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	all := fields{}
	if json.Unmarshal(text, &all) != nil || all == nil {
		return reply, nil //nolint:nilerr // a list, or null
	}
	if own := all["_meta"]; own != nil {
		if err := json.Unmarshal(own, &meta); err != nil {
			return nil, err
		}
	}
	all["_meta"], err = json.Marshal(meta)
	return all, err
}

// manage adds the endpoint of a management call to a mux. All of them need an admin
// token.
func (s *server) manage(mux routes, path string, handle func(*call) (any, error)) {
	mux.Handle("POST "+path, s.route(admins, receipted(path, handle)))
}
