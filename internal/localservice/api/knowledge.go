package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// Bounds of knowledge (service.md, Limits).
const (
	maxSources   = 500
	maxKnowledge = 8 << 20 // bytes of the body that sets a record
	maxQuery     = 8000    // characters of a search
	defaultTop   = 5
	maxTop       = 50
)

// States of a knowledge record. Whether its sources are indexed is in their indexers.
const (
	knowledgeReady = "READY"
	knowledgeEmpty = "EMPTY" // it has no sources
)

// viewKnowledge is a record of knowledge as clients see it. A shared one has the partner 0.
func viewKnowledge(r *store.Record[store.Knowledge]) any {
	visible := *r
	visible.Body.Tags = append([]string{}, r.Body.Tags...)
	visible.Body.Config.Sources = append([]store.Source{}, r.Body.Config.Sources...)
	v := viewNumbered(&visible)
	v["status"] = json.RawMessage(`"` + knowledgeEmpty + `"`)
	if len(r.Body.Config.Sources) > 0 {
		v["status"] = json.RawMessage(`"` + knowledgeReady + `"`)
	}
	return v
}

func (s *server) knowledge() *resource[store.Knowledge] {
	return &resource[store.Knowledge]{
		records: store.KnowledgeRecords(s.Store), view: viewKnowledge, numbered: true, shared: true, needs: []string{"name"}, set: setKnowledge,
		blank: func(c *call) store.Knowledge { return store.Knowledge{UserID: c.claims.UserID} },
		query: knowledgeQuery,
	}
}

// knowledgeRoutes adds the calls about knowledge, besides those of every [resource].
func (s *server) knowledgeRoutes(mux routes) {
	s.manage(mux, "/v1/knowledge/entry_status", withBody(s.entryStatus))
	s.manage(mux, "/partner-config/stats", withBody(s.knowledgeStats))
	mux.Handle("POST /mcp/search", s.route(owners, withBody(s.search)))
}

// knowledgeStats counts what a partner has in the index (management-api.md, F.9
// indexStatus). It has no filter.
func (s *server) knowledgeStats(c *call, body struct {
	Filter json.RawMessage `json:"filter"`
},
) (any, error) {
	if err := readFilter(body.Filter, "", nil); err != nil {
		return nil, err
	}
	return s.Store.KnowledgeStats(c.ctx(), c.claims.PartnerID)
}

func knowledgeQuery(body *listQuery) (store.Query, error) {
	page, err := body.Pager.page(threadPageSize)
	q := store.Query{Shared: true, Page: page}
	var id *string
	err = cmp.Or(err, readFilter(body.Filter, "", conditions{
		"idsIn": &q.IDs, "idEquals": &id, "nameEquals": where(&q, "name", store.Equals[string]),
		"objectType": new(any), // accepted, because other lists require it
	}))
	q.IDs = narrow(q.IDs, id)
	return q, err
}

// setKnowledge applies fields to a record. The sources of a new config are split into
// passages again.
func setKnowledge(old store.Knowledge, body fields) (store.Knowledge, error) {
	body.dropReadOnly("status", "user_id")
	k, err := overlay(old, store.Knowledge{}, body)
	if err == nil {
		err = cmp.Or(checkName("name", k.Name), checkRefs("tags", k.Tags))
	}
	if _, ok := body["config"]; err != nil || !ok {
		return k, err
	}
	if len(k.Config.Sources) > maxSources {
		return k, tooMany(maxSources, "config", "sources")
	}
	k.Passages = []store.Passage{}
	used := map[string]bool{}
	for i := range k.Config.Sources {
		if err := setSource(&k.Config.Sources[i], i, used); err != nil {
			return k, err
		}
		k.Passages = append(k.Passages, brain.Passages(k.Config.Sources[i])...)
	}
	return k, nil
}

// setSource checks a source and sets its indexers, and its entry id unless it has a
// usable one.
func setSource(source *store.Source, i int, used map[string]bool) error {
	at := func(key string) []any { return []any{"config", "sources", i, key} }
	switch {
	case source.Type != store.TextSource && source.Type != store.MarkdownSource:
		return invalid("enum", "This service reads sources of the types text and markdown", at("type")...)
	case strings.TrimSpace(source.Name) == "" || utf8.RuneCountInString(source.Name) > maxName:
		return invalid("value_error", fmt.Sprintf("A source needs a name of at most %d characters", maxName), at("name")...)
	case strings.TrimSpace(source.Content) == "":
		return invalid("string_too_short", "A source needs a text", at("content")...)
	}
	if source.EntryID == "" || used[source.EntryID] || len(source.EntryID) > maxName {
		source.EntryID = uuid.NewString()
	}
	used[source.EntryID] = true
	source.Indexers = store.Indexed()
	return nil
}

// entryView is the indexing status of one entry of a record.
type entryView struct {
	EntryID       string `json:"entry_id"`
	Status        string `json:"status"`
	IndexPosition bool   `json:"index_position,omitempty"`
}

// entryStatus returns the status of each requested entry id, in the order of the request.
func (s *server) entryStatus(c *call, body struct {
	KnowledgeID *int64   `json:"knowledge_id"`
	EntryIDs    []string `json:"entry_ids"`
},
) (any, error) {
	switch {
	case body.KnowledgeID == nil:
		return nil, missing("knowledge_id")
	case body.EntryIDs == nil:
		return nil, missing("entry_ids")
	case len(body.EntryIDs) > maxPageSize:
		return nil, tooMany(maxPageSize, "entry_ids")
	}
	r, err := s.knowledge().read(c, strconv.FormatInt(*body.KnowledgeID, 10))
	if err != nil {
		return nil, err
	}
	indexed := map[string]bool{}
	for _, source := range r.Body.Config.Sources {
		indexed[source.EntryID] = true
	}
	return viewAll(body.EntryIDs, len(body.EntryIDs), func(id string) entryView {
		if !indexed[id] {
			return entryView{EntryID: id, Status: "not_found"}
		}
		return entryView{id, "indexed", true}
	}), nil
}

// nothingFound is the data of a search without a result. Its HTTP status is 200: clients
// read the status in the reply (management-api.md, F.9).
const nothingFound = "Relevant information could not be found."

// searchReply is what was found: one text, or a list of chapters when the sources are
// requested (service.md, Knowledge).
type searchReply struct {
	Text     *string   `json:"text"`
	Chapters []chapter `json:"chapters"`
}

// chapter is one hit of a search.
type chapter struct {
	EntryID string `json:"entry_id"`
	Title   string `json:"title"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
	Line    int    `json:"line,omitempty"` // on which the text begins
}

// search looks for words in all texts of the partner (admin token), or in those of the
// token's agent (other tokens).
func (s *server) search(c *call, body struct {
	Query            *string  `json:"query"`
	TopN             *int     `json:"top_n"`
	WithLineNumbers  bool     `json:"with_line_numbers"`
	Margins          *float64 `json:"margins_in_seconds"` // for recordings, which this service does not have
	IncludeSources   bool     `json:"include_sources"`
	EntryDescription bool     `json:"entry_description"`
},
) (any, error) {
	top := defaultTop
	if body.TopN != nil {
		top = *body.TopN
	}
	switch {
	case body.Query == nil:
		return nil, missing("query")
	case utf8.RuneCountInString(*body.Query) > maxQuery:
		return nil, tooLong(maxQuery, "query")
	case top < 1 || top > maxTop:
		return nil, outOfRange(1, maxTop, "top_n")
	case body.Margins != nil && *body.Margins < 0:
		return nil, invalid("greater_than_equal", "Input should be greater than or equal to 0", "margins_in_seconds")
	}
	hits, err := s.find(c, *body.Query, top)
	if err != nil {
		return nil, err
	}
	if len(hits) == 0 {
		return map[string]any{"status": "error", "data": nothingFound}, nil
	}
	var reply searchReply
	texts := make([]string, len(hits))
	for i, hit := range hits {
		texts[i] = passageText(hit, body.WithLineNumbers, body.EntryDescription)
		found := chapter{EntryID: hit.EntryID, Title: hit.Title, Heading: hit.Heading, Text: texts[i]}
		if body.WithLineNumbers {
			found.Line = hit.Line
		}
		reply.Chapters = append(reply.Chapters, found)
	}
	if !body.IncludeSources {
		text := strings.Join(texts, "\n\n")
		reply = searchReply{Text: &text}
	}
	return success(reply), nil
}

func (s *server) find(c *call, query string, top int) ([]store.Passage, error) {
	if c.claims.Kind() == token.Admin {
		return s.Store.SearchPartner(c.ctx(), c.claims.PartnerID, query, top)
	}
	who, err := s.Dialogue.Caller(c.ctx(), c.claims)
	if err != nil {
		return nil, err
	}
	return s.Store.SearchKnowledge(c.ctx(), who.Agent.Profile.KnowledgeIDs, query, top)
}

// passageText returns the text of a hit, if requested with a number before each line
// (numbers) and its origin in a line above (described).
func passageText(p store.Passage, numbers, described bool) string {
	text := p.Body
	if numbers {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = fmt.Sprintf("%d: %s", p.Line+i, line)
		}
		text = strings.Join(lines, "\n")
	}
	if !described {
		return text
	}
	origin := p.Title
	if p.Heading != "" {
		origin += ": " + p.Heading
	}
	return "[" + origin + "]\n" + text
}
