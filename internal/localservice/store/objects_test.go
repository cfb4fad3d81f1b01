package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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

func TestNamesAreUniqueWithinAPartnerAndKind(t *testing.T) {
	s := open(t)
	create := func(partner int64, name string) (Record[note], error) {
		return notes(s).Create(t.Context(), partner, note{Name: name})
	}
	first := must.Get(create(1, "a"))(t)
	expect.Fail(create(1, "a"))(t, ErrTaken, "the same name")
	if _, err := create(2, "a"); err != nil {
		t.Errorf("another partner: %v", err)
	}
	others := notes(s)
	others.kind = "other"
	if _, err := others.Create(t.Context(), 1, note{Name: "a"}); err != nil {
		t.Errorf("another kind: %v", err)
	}
	for range 2 {
		if _, err := create(1, ""); err != nil {
			t.Errorf("without a name: %v", err)
		}
	}
	second := must.Get(create(1, "b"))(t)
	expect.Fail(notes(s).Update(t.Context(), 1, second.ID, func(n *note) error { n.Name = "a"; return nil }))(t, ErrTaken, "renamed to a used name")
	if got, err := notes(s).Get(t.Context(), 1, second.ID); err != nil || got.Body.Name != "b" {
		t.Errorf("after a refused change: %v, %v", got, err)
	}
	if _, err := notes(s).Update(t.Context(), 1, first.ID, func(*note) error { return nil }); err != nil {
		t.Errorf("its own name: %v", err)
	}
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

func TestCollectionLists(t *testing.T) {
	s := open(t)
	var ids []string
	for i := range 5 {
		r := must.Get(notes(s).Create(t.Context(), 1, note{Name: fmt.Sprintf("Näme %d", i), Tags: []string{"all", strconv.Itoa(i % 2)}}))(t)
		ids = append(ids, r.ID)
	}
	must.Get(notes(s).Create(t.Context(), 2, note{Name: "of another partner"}))(t)
	shared := must.Get(notes(s).Create(t.Context(), SharedPartner, note{Name: "shared"}))(t)
	for _, tt := range []struct {
		name  string
		query Query
		want  []string
		total int
	}{
		{"everything, in order", Query{}, ids, 5},
		{"with the shared ones", Query{Shared: true}, append(slices.Clone(ids), shared.ID), 6},
		{"a page", Query{Page: Page{1, 2}}, ids[1:3], 5},
		{"behind the end", Query{Page: Page{9, 2}}, nil, 5},
		{"by ids", Query{IDs: []string{ids[3], "none"}}, ids[3:4], 1},
		{"by no ids", Query{IDs: []string{}}, nil, 0},
		{"by a field", Query{Where: []Condition{Equals("name", "Näme 2")}}, ids[2:3], 1},
		{"by a tag", Query{Where: []Condition{HasAny("tags", []string{"1", "9"})}}, []string{ids[1], ids[3]}, 2},
		{"without a tag", Query{Where: []Condition{HasNone("tags", []string{"1"})}}, []string{ids[0], ids[2], ids[4]}, 3},
		{"by text, whatever its case", Query{Where: []Condition{Contains("name", "NÄME 4")}}, ids[4:], 1},
		{"by the text of an id", Query{Where: []Condition{Contains("name", ids[0][3:20])}}, ids[:1], 1},
		{"newest first", Query{Order: CreatedDescending, Page: Page{Limit: 1}}, ids[4:], 5},
	} {
		got, total, err := notes(s).List(t.Context(), 1, tt.query)
		var found []string
		for _, r := range got {
			found = append(found, r.ID)
		}
		if err != nil || !slices.Equal(found, tt.want) || total != tt.total {
			t.Errorf("%s: %v of %d, %v; want %v of %d", tt.name, found, total, err, tt.want, tt.total)
		}
	}
	usable, err := notes(s).Usable(t.Context(), 1, []string{shared.ID, "none", ids[1]})
	if err != nil || len(usable) != 2 || usable[0].ID != shared.ID || usable[1].ID != ids[1] {
		t.Errorf("usable: %v, %v", usable, err)
	}
	for range 2 { // the second time there is nothing to delete
		notes(s).Delete(t.Context(), 1, ids[0]) //nolint:errcheck // the total tells
	}
	if _, total, err := notes(s).List(t.Context(), 1, Query{Shared: true}); err != nil || total != 5 {
		t.Errorf("a total of %d after a delete, %v", total, err)
	}
}

func TestNumbersOfRecordsAreNotUsedAgain(t *testing.T) {
	s := open(t)
	partner := onlyPartner(t, s).ID
	first := must.Get(s.Intellects().Create(t.Context(), partner, NewIntellect()))(t)
	must.Do(t, s.Intellects().Delete(t.Context(), partner, first.ID))
	second, err := s.Intellects().Create(t.Context(), partner, NewIntellect())
	if err != nil || second.Number() <= first.Number() || first.Number() <= firstConfigID {
		t.Errorf("%v, then %v, %v", first.ID, second.ID, err)
	}
}

func TestARepeatedRequestHasItsFirstResult(t *testing.T) {
	s := open(t)
	ctx := WithRequest(t.Context(), "key")
	first := must.Get(notes(s).Create(ctx, 1, note{Name: "a"}))(t)
	again, err := notes(s).Create(ctx, 1, note{Name: "a"})
	if err != nil || again.ID != first.ID {
		t.Errorf("again: %v, %v; want %v", again.ID, err, first.ID)
	}
	if other, err := notes(s).Create(ctx, 2, note{Name: "a"}); err != nil || other.ID == first.ID {
		t.Errorf("another partner with the same key: %v, %v", other.ID, err)
	}
	expect.Fail(notes(s).Create(WithRequest(t.Context(), "other"), 1, note{Name: "a"}))(t, ErrTaken, "another key")
	for range 2 {
		expect.Equal(t, notes(s).Delete(ctx, 1, first.ID), nil, "delete")
	}
	expect.Error(t, notes(s).Delete(WithRequest(t.Context(), "other"), 1, first.ID), ErrNotFound, "delete with another key")
}

// TestASettingOfARuleThatIsBeingStoredIsNotDeleted: the rule is stored while the delete waits.
func TestASettingOfARuleThatIsBeingStoredIsNotDeleted(t *testing.T) {
	s := open(t)
	other := must.Get(s.InsightSettings().Create(t.Context(), 1, InsightSetting{Key: "other"}))(t)
	setting := must.Get(s.InsightSettings().Create(t.Context(), 1, InsightSetting{Key: "k"}))(t)
	deleted := make(chan error, 1)
	must.Do(t, s.tx(t.Context(), func(tx *sql.Tx) error {
		actions := []RuleAction{{Type: EmailAction}, {Type: InsightAction, InsightSettingIDs: []string{other.ID, setting.ID}}}
		must.Get(s.Rules().create(t.Context(), tx, 1, Rule{Name: "r", Actions: actions}))(t)
		waits := s.write.Stats().WaitCount
		go func() { deleted <- s.InsightSettings().Delete(t.Context(), 1, setting.ID) }()
		for s.write.Stats().WaitCount == waits {
			time.Sleep(time.Millisecond)
		}
		return nil
	}))
	if err := <-deleted; !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "the lifecycle rule") {
		t.Errorf("err = %v", err)
	}
	must.Get(s.InsightSettings().Get(t.Context(), 1, setting.ID))(t)
	if err := s.InsightSettings().Delete(t.Context(), 2, setting.ID); !errors.Is(err, ErrNotFound) {
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

// TestAnItemGoesWithItsFile in one step: neither is left when the other is gone.
func TestAnItemGoesWithItsFile(t *testing.T) {
	s := open(t)
	file := must.Get(s.AddAsset(t.Context(), "image/png", bytes.NewReader([]byte("picture"))))(t)
	item := must.Get(s.Catalog().Create(t.Context(), 1, CatalogItem{Type: VisualItem, AssetID: file}))(t)
	expect.Error(t, s.Catalog().Delete(t.Context(), 2, item.ID), ErrNotFound, "delete by another partner")
	if _, _, err := s.Asset(t.Context(), file); err != nil {
		t.Errorf("the file of an item that is there: %v", err)
	}
	must.Do(t, s.Catalog().Delete(t.Context(), 1, item.ID))
	if _, _, err := s.Asset(t.Context(), file); !errors.Is(err, ErrNotFound) {
		t.Errorf("the file of a deleted item: %v", err)
	}
}

// TestAReferenceIsCheckedWhenItIsStored, and not before: what it leads to may be deleted meanwhile.
func TestAReferenceIsCheckedWhenItIsStored(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	template := must.Get(s.EmailTemplates().Create(ctx, 1, EmailTemplate{Name: "t"}))(t)
	rule := must.Get(s.Rules().Create(ctx, 1, Rule{Name: "r"}))(t)
	mail := []RuleAction{{Type: EmailAction, EmailTemplateID: template.ID}}
	_, err := s.Rules().Update(ctx, 1, rule.ID, func(r *Rule) error {
		r.Actions = mail
		return s.EmailTemplates().Delete(ctx, 1, template.ID)
	})
	var missing *MissingError
	if !errors.As(err, &missing) || missing.ID != template.ID {
		t.Errorf("stored a rule with a template that was deleted meanwhile: %v", err)
	}
	_, err = s.Rules().Create(ctx, 1, Rule{Name: "r", Actions: mail})
	if !errors.As(err, &missing) {
		t.Errorf("stored a new rule with a template that does not exist: %v", err)
	}
}
