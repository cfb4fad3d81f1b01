package management

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// SnapshotFields are the fields of an intellect that a snapshot can have (management-api.md,
// F.6).
var SnapshotFields = []string{"prompts", "base_directive", "glossary", "capabilities", "status"}

// Snapshot is a copy of what an intellect says and may do, which the caller keeps. The client
// in TypeScript reads and writes the same JSON.
type Snapshot struct {
	ConfigID int64           `json:"configId"`
	Label    string          `json:"label,omitempty"`
	Type     string          `json:"type"`
	Fields   SnapshotContent `json:"fields"`
	TakenAt  time.Time       `json:"takenAt,omitzero"`
}

// SnapshotContent are the [SnapshotFields] of an intellect. A nil one was not in its record.
type SnapshotContent struct {
	Prompts       []Prompt          `json:"prompts,omitzero"`
	BaseDirective *string           `json:"base_directive,omitempty"`
	Glossary      *string           `json:"glossary,omitempty"`
	Capabilities  map[string]string `json:"capabilities,omitzero"`
	Status        *int              `json:"status,omitempty"`
}

// Snapshot reads an intellect and returns a copy of its [SnapshotFields]. The service stores
// nothing. Errors: those of Get, and invalid_response for a field of an unexpected type.
func (i Intellects) Snapshot(ctx context.Context, id int64, label string) (*Snapshot, error) {
	if err := i.check(id); err != nil {
		return nil, err
	}
	var record struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
		SnapshotContent
	}
	get := i.call("get", harmless)
	err := i.c.post(ctx, get, i.about(id), &record)
	if err == nil && record.ID == 0 {
		err = fault.New(fault.InvalidResponse, "the reply has no id").At(get.path)
	}
	if err != nil {
		return nil, err
	}
	return &Snapshot{ConfigID: id, Label: label, Type: record.Type, Fields: record.SnapshotContent, TakenAt: time.Now().UTC().Truncate(time.Second)}, nil
}

// Restore writes fields of a snapshot back into its intellect, all that it has if none are
// named; a field that it does not have stays as it is. Capabilities replace the stored ones,
// also disabled ones. Errors: bad_request for a name that is not one of [SnapshotFields], and
// if the snapshot has none of the fields; prompt_lint_failed for a template with an error.
// Nothing is written then.
func (i Intellects) Restore(ctx context.Context, s *Snapshot, fields ...string) (*Intellect, error) {
	if s == nil {
		return nil, badRequest("there is no snapshot")
	}
	if len(fields) == 0 {
		fields = SnapshotFields
	}
	var f IntellectFields
	for _, name := range fields {
		switch name {
		case "prompts":
			f.Prompts = s.Fields.Prompts
		case "base_directive":
			f.BaseDirective = s.Fields.BaseDirective
		case "glossary":
			f.Glossary = s.Fields.Glossary
		case "capabilities":
			f.Capabilities = s.Fields.Capabilities
		case "status":
			f.Status = s.Fields.Status
		default:
			return nil, oneOf("the field "+name, name, SnapshotFields)
		}
	}
	if reflect.ValueOf(f).IsZero() {
		return nil, badRequest("the snapshot has none of the fields to restore")
	}
	checked := f
	checked.Capabilities = nil // the service may know more of them than this client
	return i.update(ctx, s.ConfigID, intellectBody{InternalIntellect, f}, checked.check())
}

// SnapshotDiff is what differs between two snapshots.
type SnapshotDiff struct {
	// Added, Removed and Modified are the keys of prompts.
	Added    []string `json:"added"`
	Removed  []string `json:"removed"`
	Modified []string `json:"modified"`
	// Reordered means that the prompts that both have are in another order.
	Reordered bool `json:"reordered"`
	// Scalars are those of base_directive, glossary and status that differ.
	Scalars []string `json:"scalarChanged"`
	// Capabilities means that the capabilities differ.
	Capabilities bool `json:"capabilitiesChanged"`
}

// Empty reports whether nothing differs.
func (d *SnapshotDiff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Modified)+len(d.Scalars) == 0 && !d.Reordered && !d.Capabilities
}

// DiffSnapshots returns what changes from a to b. It sends nothing. Error: bad_request for a
// snapshot that is nil.
func DiffSnapshots(a, b *Snapshot) (*SnapshotDiff, error) {
	if a == nil || b == nil {
		return nil, badRequest("both arguments must be snapshots")
	}
	d := &SnapshotDiff{Added: []string{}, Removed: []string{}, Modified: []string{}, Scalars: []string{}}
	before, after := promptsByKey(a.Fields.Prompts), promptsByKey(b.Fields.Prompts)
	var orderA, orderB []string // of the keys that both have
	for _, p := range a.Fields.Prompts {
		other, ok := after[p.Key]
		switch {
		case !ok:
			d.Removed = append(d.Removed, p.Key)
			continue
		case other != before[p.Key] && !slices.Contains(d.Modified, p.Key):
			d.Modified = append(d.Modified, p.Key)
		}
		orderA = append(orderA, p.Key)
	}
	for _, p := range b.Fields.Prompts {
		if _, ok := before[p.Key]; ok {
			orderB = append(orderB, p.Key)
		} else {
			d.Added = append(d.Added, p.Key)
		}
	}
	d.Reordered = !slices.Equal(orderA, orderB)
	if differ(a.Fields.BaseDirective, b.Fields.BaseDirective) {
		d.Scalars = append(d.Scalars, "base_directive")
	}
	if differ(a.Fields.Glossary, b.Fields.Glossary) {
		d.Scalars = append(d.Scalars, "glossary")
	}
	if differ(a.Fields.Status, b.Fields.Status) {
		d.Scalars = append(d.Scalars, "status")
	}
	d.Capabilities = !maps.Equal(a.Fields.Capabilities, b.Fields.Capabilities)
	return d, nil
}

// promptsByKey maps keys to prompts as they are sent, with their defaults.
func promptsByKey(prompts []Prompt) map[string]string {
	byKey := make(map[string]string, len(prompts))
	for _, p := range prompts {
		byKey[p.Key] = string(mustJSON(p))
	}
	return byKey
}

// differ compares two values, of which nil is none.
func differ[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}
