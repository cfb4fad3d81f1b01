package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// note is a record of these tests.
type note struct {
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

func notes(s *Store) Collection[note] {
	return Collection[note]{store: s, kind: "note", newID: UUID, name: func(n *note) string { return n.Name }}
}

// TestAChangeOfARecordBlocksNoOtherWrite: a change may take its time and use the store. Of two at once, the later one is made again.
func TestAChangeOfARecordBlocksNoOtherWrite(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	all := notes(s)
	r := must.Get(all.Create(ctx, 1, note{Name: "a"}))(t)
	add := func(tag string, before func() error) error {
		_, err := all.Update(ctx, 1, r.ID, func(n *note) error {
			n.Tags = append(n.Tags, tag)
			return before()
		})
		return err
	}
	other := sync.OnceValue(func() error { return add("first", func() error { return nil }) })
	must.Do(t, add("second", other))
	if got := must.Get(all.Get(ctx, 1, r.ID))(t); !slices.Equal(got.Body.Tags, []string{"first", "second"}) {
		t.Errorf("tags %v", got.Body.Tags)
	}
	deleted := sync.OnceValue(func() error { return all.Delete(ctx, 1, r.ID) })
	expect.Error(t, add("third", deleted), ErrNotFound, "a record that was deleted meanwhile")
}

func TestNumbersOfRecordsAreNotUsedAgain(t *testing.T) {
	s := open(t)
	partner := onlyPartner(t, s).ID
	first := must.Get(Intellects(s).Create(t.Context(), partner, NewIntellect()))(t)
	must.Do(t, Intellects(s).Delete(t.Context(), partner, first.ID))
	second, err := Intellects(s).Create(t.Context(), partner, NewIntellect())
	if err != nil || second.Number() <= first.Number() || first.Number() <= firstConfigID {
		t.Errorf("%v, then %v, %v", first.ID, second.ID, err)
	}
}

// TestASettingOfARuleThatIsBeingStoredIsNotDeleted: the rule is stored while the delete waits.
func TestASettingOfARuleThatIsBeingStoredIsNotDeleted(t *testing.T) {
	s := open(t)
	other := must.Get(InsightSettings(s).Create(t.Context(), 1, InsightSetting{Key: "other"}))(t)
	setting := must.Get(InsightSettings(s).Create(t.Context(), 1, InsightSetting{Key: "k"}))(t)
	deleted := make(chan error, 1)
	must.Do(t, s.tx(t.Context(), func(tx *sql.Tx) error {
		actions := []RuleAction{{Type: EmailAction}, {Type: InsightAction, InsightSettingIDs: []string{other.ID, setting.ID}}}
		must.Get(Rules(s).create(t.Context(), tx, 1, Rule{Name: "r", Actions: actions}))(t)
		waits := s.write.Stats().WaitCount
		go func() { deleted <- InsightSettings(s).Delete(t.Context(), 1, setting.ID) }()
		for s.write.Stats().WaitCount == waits {
			time.Sleep(time.Millisecond)
		}
		return nil
	}))
	if err := <-deleted; !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "the lifecycle rule") {
		t.Errorf("err = %v", err)
	}
	must.Get(InsightSettings(s).Get(t.Context(), 1, setting.ID))(t)
	if err := InsightSettings(s).Delete(t.Context(), 2, setting.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("of another partner: %v", err)
	}
}

// TestFilesAreStoredInParts, of which the last may be shorter.
func TestFilesAreStoredInParts(t *testing.T) {
	s := open(t)
	for name, size := range map[string]int{"empty": 0, "one": 1, "part": assetPart, "more": assetPart + 1, "three": 3*assetPart - 7} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i / 251)
		}
		id := must.Get(s.AddAsset(t.Context(), "image/png", bytes.NewReader(want)))(t)
		kind, file, err := s.Asset(t.Context(), id)
		if err != nil || kind != "image/png" {
			t.Fatalf("%s: %s, %v", name, kind, err)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
		}
		if err := s.DeleteAsset(t.Context(), id); err != nil {
			t.Error(err)
		}
		if _, _, err := s.Asset(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s after it was deleted: %v", name, err)
		}
	}
	var left int
	if err := s.read.QueryRow(`SELECT count(*) FROM asset_parts`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d parts are left, %v", left, err)
	}
}

// TestAReferenceIsCheckedWhenItIsStored, and not before: what it leads to may be deleted meanwhile.
func TestAReferenceIsCheckedWhenItIsStored(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	template := must.Get(EmailTemplates(s).Create(ctx, 1, EmailTemplate{Name: "t"}))(t)
	rule := must.Get(Rules(s).Create(ctx, 1, Rule{Name: "r"}))(t)
	mail := []RuleAction{{Type: EmailAction, EmailTemplateID: template.ID}}
	_, err := Rules(s).Update(ctx, 1, rule.ID, func(r *Rule) error {
		r.Actions = mail
		return EmailTemplates(s).Delete(ctx, 1, template.ID)
	})
	var missing *MissingError
	if !errors.As(err, &missing) || missing.ID != template.ID {
		t.Errorf("stored a rule with a template that was deleted meanwhile: %v", err)
	}
	_, err = Rules(s).Create(ctx, 1, Rule{Name: "r", Actions: mail})
	if !errors.As(err, &missing) {
		t.Errorf("stored a new rule with a template that does not exist: %v", err)
	}
}
