package management

import (
	"context"
	"maps"
	"slices"
	"time"
)

// SnapshotFields are the fields of an intellect that a snapshot has (management-api.md,
// F.6).
var SnapshotFields = []string{"prompts", "base_directive", "glossary", "capabilities", "status"}

// Snapshot is a copy of what an intellect says and may do, which the caller keeps.
type Snapshot struct {
	ConfigID int64  `json:"configId"`
	Label    string `json:"label,omitempty"`
	Type     string `json:"type"`
	Fields   struct {
		Prompts       []Prompt          `json:"prompts"`
		BaseDirective string            `json:"base_directive"`
		Glossary      string            `json:"glossary"`
		Capabilities  map[string]string `json:"capabilities"`
		Status        *int              `json:"status"`
	} `json:"fields"`
	TakenAt time.Time `json:"takenAt"`
}

// Snapshot reads an intellect and returns a copy of [SnapshotFields]. The service stores
// nothing.
func (i Intellects) Snapshot(ctx context.Context, id int64, label string) (*Snapshot, error) {
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{ConfigID: id, Label: label, Type: intellect.Type, TakenAt: time.Now().UTC().Truncate(time.Second)}
	s.Fields.Prompts, s.Fields.BaseDirective, s.Fields.Glossary = orEmpty(intellect.Prompts), intellect.BaseDirective, intellect.Glossary
	s.Fields.Capabilities, s.Fields.Status = intellect.Capabilities, intellect.Status
	return s, nil
}

// Restore writes fields of a snapshot back into its intellect, all of [SnapshotFields] if
// none are named. Capabilities replace the stored ones, also disabled ones. Errors:
// bad_request for a field that a snapshot does not have, prompt_lint_failed for a template
// with an error; nothing is written then.
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
			f.Prompts = orEmpty(s.Fields.Prompts)
		case "base_directive":
			f.BaseDirective = new(s.Fields.BaseDirective)
		case "glossary":
			f.Glossary = new(s.Fields.Glossary)
		case "capabilities":
			f.Capabilities = map[string]string{}
			maps.Copy(f.Capabilities, s.Fields.Capabilities)
		case "status":
			f.Status = s.Fields.Status
		default:
			return nil, oneOf("the field "+name, name, SnapshotFields)
		}
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

// DiffSnapshots returns what changes from a to b. It sends nothing.
func DiffSnapshots(a, b *Snapshot) SnapshotDiff {
	d := SnapshotDiff{Added: []string{}, Removed: []string{}, Modified: []string{}, Scalars: []string{}}
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
	if a.Fields.BaseDirective != b.Fields.BaseDirective {
		d.Scalars = append(d.Scalars, "base_directive")
	}
	if a.Fields.Glossary != b.Fields.Glossary {
		d.Scalars = append(d.Scalars, "glossary")
	}
	if statusOf(a) != statusOf(b) {
		d.Scalars = append(d.Scalars, "status")
	}
	d.Capabilities = !maps.Equal(a.Fields.Capabilities, b.Fields.Capabilities)
	return d
}

// promptsByKey maps keys to prompts as they are sent, with their defaults.
func promptsByKey(prompts []Prompt) map[string]string {
	byKey := make(map[string]string, len(prompts))
	for _, p := range prompts {
		byKey[p.Key] = string(mustJSON(p))
	}
	return byKey
}

func statusOf(s *Snapshot) int {
	if s.Fields.Status == nil {
		return -1 // not known
	}
	return *s.Fields.Status
}
