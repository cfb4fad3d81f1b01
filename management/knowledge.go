package management

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Knowledge manages the texts that agents answer from (service.md, "Knowledge"). All calls
// but Search need an admin token.
type Knowledge struct {
	Records[KnowledgeRecord, int64]
}

// KnowledgeRecord is a named set of sources.
type KnowledgeRecord struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Status is not about the index; see Indexed.
	Status string   `json:"status,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	// UserID is the user of the token that made it.
	UserID    string          `json:"user_id,omitempty"`
	Config    KnowledgeConfig `json:"config"`
	CreatedAt Time            `json:"created_at,omitempty"`
	UpdatedAt Time            `json:"updated_at,omitempty"`
	Receipt
}

// Indexed reports whether every source of the record can be found: each of its indexers
// has an index_position. A record without sources is not indexed.
func (r *KnowledgeRecord) Indexed() bool {
	for _, s := range r.Config.Sources {
		if !s.Indexed() {
			return false
		}
	}
	return len(r.Config.Sources) > 0
}

// KnowledgeConfig is what a record consists of. Fields that are not listed here are kept
// by [Knowledge.AddSource] and [Knowledge.RemoveSource].
type KnowledgeConfig struct {
	Sources []Source `json:"sources"`
}

// Source is a text of a record. service.md does not show its form.
type Source struct {
	// Type is one of [SourceTypes]; "" means markdown.
	Type string `json:"type"`
	// Name is the title of the text; required.
	Name string `json:"name"`
	// Content is the text; required.
	Content string `json:"content"`
	// EntryID is the service's id of the text, set by the service.
	EntryID string `json:"entry_id,omitempty"`
	// Indexers are the states of the text in the indexes, set by the service.
	Indexers []Indexer `json:"indexers,omitempty"`
}

// FileSource returns the source that has a file's text: markdown if the file's name ends
// in .md or .markdown, else plain text.
func FileSource(name, text string) Source {
	kind := SourceText
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		kind = SourceMarkdown
	}
	return Source{Type: kind, Name: name, Content: text}
}

// Types of a [Source].
const (
	SourceText     = "text"
	SourceMarkdown = "markdown"
)

// SourceTypes are the values of [Source].Type.
var SourceTypes = []string{SourceText, SourceMarkdown}

// Indexed reports whether the text can be found.
func (s *Source) Indexed() bool {
	return len(s.Indexers) > 0 && !slices.ContainsFunc(s.Indexers, func(i Indexer) bool { return !i.Done() })
}

// Indexer is the state of a text in an index.
type Indexer struct {
	Type Modality `json:"type,omitempty"`
	// Strategy is how the text is indexed.
	Strategy string `json:"strategy,omitempty"`
	// IndexPosition is set when the text is indexed completely.
	IndexPosition json.RawMessage `json:"index_position,omitempty"`
}

// Done reports whether there is an index position.
func (i Indexer) Done() bool {
	return len(i.IndexPosition) > 0 && string(i.IndexPosition) != "null" && string(i.IndexPosition) != "false"
}

// KnowledgePatch describes a change of a record; nil fields stay as they are.
type KnowledgePatch struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	// Tags replaces all tags; nil keeps them.
	Tags []string `json:"tags,omitzero"`
	// Config replaces the whole configuration.
	Config *KnowledgeConfig `json:"config,omitempty"`
}

// EntryStatus is the indexing status of one text.
type EntryStatus struct {
	EntryID string `json:"entry_id"`
	// Status is the service's own word for it; see Done.
	Status        string          `json:"status"`
	IndexPosition json.RawMessage `json:"index_position,omitempty"`
}

// Done reports whether the text can be found.
func (e EntryStatus) Done() bool { return Indexer{IndexPosition: e.IndexPosition}.Done() }

// SearchInput is a search in the account's texts.
type SearchInput struct {
	// Query is what to look for; required.
	Query string `json:"query"`
	// TopN is how many places are returned; 0 means 5.
	TopN int `json:"top_n,omitempty"`
	// WithLineNumbers puts the numbers of lines into the text.
	WithLineNumbers *bool `json:"with_line_numbers,omitempty"`
	// MarginsInSeconds is how much of a recording around a place is returned; nil
	// means 15.
	MarginsInSeconds *int `json:"margins_in_seconds,omitempty"`
	// IncludeSources returns the places one by one, as Chapters, instead of a Text.
	IncludeSources *bool `json:"include_sources,omitempty"`
	// EntryDescription adds descriptions of the texts.
	EntryDescription *bool `json:"entry_description,omitempty"`
}

// SearchResult is what was found.
type SearchResult struct {
	// Text is what was found as one text, "" with IncludeSources.
	Text string `json:"text"`
	// Chapters are the places, nil without IncludeSources.
	Chapters []Chapter `json:"chapters"`
}

// Chapter is a place in a text. service.md does not show its form.
type Chapter struct {
	EntryID string `json:"entry_id"`
	Title   string `json:"title"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
	// Line is the number of the text's first line, from 1; set only with WithLineNumbers.
	Line int `json:"line,omitempty"`
}

var knowledgeRecords = collection[KnowledgeRecord, int64]{
	at: appinit.Genie, path: "/v1/knowledge", create: "add", what: "a knowledge record",
	checkID: func(id int64) error { return recordID("the id of a knowledge record", id) },
	inUse:   fault.KnowledgeInUse, names: func(i *Intellect, id int64) bool { return slices.Contains(i.KnowledgeIDs, id) },
}

var (
	knowledgeEntryStatus = endpoint{at: appinit.Genie, path: "/v1/knowledge/entry_status", again: harmless}
	knowledgeSearch      = endpoint{at: appinit.Genie, path: "/mcp/search", scope: forUsers, again: harmless}
)

// Add makes an empty record. Error: bad_request for an empty name.
func (k Knowledge) Add(ctx context.Context, name string, opts ...Option) (*KnowledgeRecord, error) {
	if err := required("the name", name); err != nil {
		return nil, err
	}
	return k.add(ctx, map[string]string{"name": name}, opts)
}

// Update changes a record and returns it. Errors: those of Get, and bad_request for an
// empty patch, an empty name and a source without a name or content.
func (k Knowledge) Update(ctx context.Context, id int64, p KnowledgePatch) (*KnowledgeRecord, error) {
	errs := []error{ifSet(p.Name, nonEmpty("the name"))}
	if p.Config != nil {
		for n, s := range p.Config.Sources {
			errs = append(errs, s.check(indexed("config.sources", n)))
		}
	}
	return k.update(ctx, id, p, errs...)
}

func (s *Source) check(at string) error {
	return cmp.Or(required(at+".name", s.Name), required(at+".content", s.Content), oneOfOrEmpty(at+".type", s.Type, SourceTypes))
}

// AddSource adds a text to a record, and reports whether it did: false when the record
// has the same text already. It reads the record and writes its whole configuration, so
// calls for one record must be made one at a time, or a change may be lost.
func (k Knowledge) AddSource(ctx context.Context, id int64, s Source) (applied bool, err error) {
	s.Type = cmp.Or(s.Type, SourceMarkdown)
	if err := cmp.Or(k.check(id), s.check("the source")); err != nil {
		return false, err
	}
	return k.editSources(ctx, id, func(sources []json.RawMessage) ([]json.RawMessage, bool) {
		if slices.ContainsFunc(sources, s.same) {
			return nil, false
		}
		own := s
		own.EntryID, own.Indexers = "", nil
		return append(sources, mustJSON(own)), true
	})
}

// RemoveSource removes a text from a record, and reports whether it did: false when the
// record does not have it. Texts are compared by type, name and content; with an EntryID
// by that only. Calls for one record must be made one at a time.
func (k Knowledge) RemoveSource(ctx context.Context, id int64, s Source) (applied bool, err error) {
	s.Type = cmp.Or(s.Type, SourceMarkdown)
	errs := []error{k.check(id)}
	if s.EntryID == "" {
		errs = append(errs, s.check("the source"))
	}
	if err := cmp.Or(errs...); err != nil {
		return false, err
	}
	return k.editSources(ctx, id, func(sources []json.RawMessage) ([]json.RawMessage, bool) {
		rest := slices.DeleteFunc(slices.Clone(sources), s.same)
		return rest, len(rest) < len(sources)
	})
}

// same reports whether a stored source is s.
func (s *Source) same(stored json.RawMessage) bool {
	var other Source
	if json.Unmarshal(stored, &other) != nil {
		return false
	}
	if s.EntryID != "" {
		return other.EntryID == s.EntryID
	}
	return other.Type == s.Type && other.Name == s.Name && other.Content == s.Content
}

// editSources reads the configuration of a record, and writes it with the sources that
// edit returns, if edit reports a change. All other fields are written back unchanged.
func (k Knowledge) editSources(ctx context.Context, id int64, edit func([]json.RawMessage) ([]json.RawMessage, bool)) (bool, error) {
	var record struct {
		ID     *int64                     `json:"id"`
		Config map[string]json.RawMessage `json:"config"`
	}
	get := k.call("get", harmless)
	if err := k.c.post(ctx, get, k.about(id), &record); err != nil {
		return false, err
	}
	if record.ID == nil {
		return false, fault.New(fault.InvalidResponse, "the reply has no id").At(get.path)
	}
	var sources []json.RawMessage
	if text := record.Config["sources"]; len(text) > 0 {
		if err := json.Unmarshal(text, &sources); err != nil {
			return false, fault.New(fault.InvalidResponse, "the record's sources are not a list").At(get.path).Wrap(err)
		}
	}
	sources, changed := edit(sources)
	if !changed {
		return false, nil
	}
	if record.Config == nil {
		record.Config = map[string]json.RawMessage{}
	}
	record.Config["sources"] = mustJSON(orEmpty(sources))
	err := k.c.post(ctx, k.call("update", harmless), map[string]any{"id": id, "config": record.Config}, nil)
	return err == nil, err
}

// Referencing returns the intellects that refer to the record. It reads all intellects.
func (k Knowledge) Referencing(ctx context.Context, id int64) ([]*Intellect, error) {
	return k.referencing(ctx, id)
}

// EntryStatus returns the indexing status of texts of a record. Errors: those of Get, and
// bad_request without entries.
func (k Knowledge) EntryStatus(ctx context.Context, id int64, entryIDs ...string) ([]EntryStatus, error) {
	errs := []error{k.check(id), uniqueIDs("entry_ids", entryIDs)}
	if len(entryIDs) == 0 {
		errs = append(errs, badRequest("name at least one entry"))
	}
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return objects[EntryStatus](ctx, k.c, knowledgeEntryStatus, map[string]any{"knowledge_id": id, "entry_ids": entryIDs})
}

// Search looks for places in the account's texts. Errors: bad_request for an empty query
// or a negative number; not_found when nothing fits, or nothing is indexed.
func (k Knowledge) Search(ctx context.Context, in SearchInput) (*SearchResult, error) {
	errs := []error{required("the query", in.Query)}
	if in.TopN < 0 {
		errs = append(errs, badRequest("top_n must be a positive integer"))
	}
	if in.MarginsInSeconds != nil && *in.MarginsInSeconds < 0 {
		errs = append(errs, badRequest("margins_in_seconds must not be negative"))
	}
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	var reply struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	if err := k.c.post(ctx, knowledgeSearch, in, &reply); err != nil {
		return nil, err
	}
	if reply.Status == "error" { // with the HTTP status 200
		var text string
		_ = json.Unmarshal(reply.Data, &text) // anything but text is left out of the message
		return nil, fault.New(fault.NotFound, text).At(knowledgeSearch.path)
	}
	var result *SearchResult
	if err := json.Unmarshal(reply.Data, &result); err != nil || result == nil {
		return nil, fault.New(fault.InvalidResponse, "the reply has no data").At(knowledgeSearch.path).Wrap(err)
	}
	return result, nil
}
