//go:build !js

package management_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TestAnAgentAnswersFromACategory uploads documents to the local service, and asks an agent
// for what is in them.
func TestAnAgentAnswersFromACategory(t *testing.T) {
	c, info := newClient(t)
	ctx := t.Context()
	zoo, created, err := c.Knowledge.FindOrCreateCategory(ctx, management.CategoryInput{Name: "Zoo", Description: "All animals."})
	if err != nil || !created || zoo.FullName != "Zoo" {
		t.Fatalf("category %+v, %t, %v", zoo, created, err)
	}
	prices, created, err := c.Knowledge.FindOrCreateCategory(ctx, management.CategoryInput{Name: "Prices", ParentID: zoo.ID})
	if err != nil || !created || prices.FullName != "Zoo>Prices" {
		t.Fatalf("category %+v, %t, %v", prices, created, err)
	}
	again, created, err := c.Knowledge.FindOrCreateCategory(ctx, management.CategoryInput{Name: "Prices", ParentID: zoo.ID})
	if err != nil || created || again.ID != prices.ID {
		t.Errorf("the same again: %+v, %t, %v", again, created, err)
	}
	_, err = c.Knowledge.FindCategory(ctx, "Circus")
	wantCode(t, "no such category", err, fault.NotFound)

	list := must.Get(c.Knowledge.UploadDocument(ctx, management.DocumentInput{Name: "prices.txt", Data: []byte("The zebra costs 42 crowns."), CategoryID: prices.ID}))(t)
	hours := must.Get(c.Knowledge.UploadMarkdown(ctx, management.DocumentInput{Data: []byte("# Hours\n\nThe elephant house opens at ten."), CategoryID: zoo.ID}))(t)
	if hours.MarkdownAssetID == "" {
		t.Errorf("markdown %+v", hours)
	}
	corpus, err := c.Knowledge.CorpusStatus(ctx, zoo.ID, prices.ID)
	if err != nil || corpus.Categories[zoo.ID] != 2 || corpus.Categories[prices.ID] != 1 || corpus.Entries != 3 {
		t.Errorf("corpus %+v, %v", corpus, err)
	}
	var names []string
	for entry, err := range c.Knowledge.CategoryEntries(ctx, zoo.ID, management.PageSize(1)) {
		must.Do(t, err)
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	expect.List(t, names, []string{"document.md", "prices.txt"}, "entries")

	agent, _ := info.Agent("receptionist")
	if got, err := c.Knowledge.LinkAvailable(ctx); err != nil || !got.Applied {
		t.Errorf("linking is possible: %+v, %v", got, err)
	}
	if got, err := c.Knowledge.LinkCategory(ctx, management.CategoryLink{IntellectID: 4711, CategoryID: zoo.ID}); err != nil || got.Applied || got.Code != "not_deployed" {
		t.Errorf("an unknown intellect: %+v, %v", got, err)
	}
	must.Do(t, c.Knowledge.LinkRecords(ctx, agent.ConfigID))
	if got, err := c.Knowledge.LinkCategory(ctx, management.CategoryLink{IntellectID: agent.ConfigID, CategoryID: zoo.ID}); err != nil || !got.Applied {
		t.Errorf("link %+v, %v", got, err)
	}
	if got, err := c.Knowledge.Linkage(ctx, agent.ConfigID); err != nil || !got.Enabled || len(got.KnowledgeIDs) != 0 {
		t.Errorf("linkage %+v, %v", got, err)
	}
	token := must.Get(c.Tokens.Agent(ctx, management.TokenInput{AgentID: agent.AgentID, UserID: "ann"}))(t)
	web := fetch.New()
	defer web.Close()
	says := func(question string) string {
		t.Helper()
		turn := must.Get(converse.Client{HTTPClient: fetch.As(web), URL: info.GenieURL, Token: token.KS()}.Turn(ctx, converse.Request{UserMessage: question}, ""))(t)
		return turn.Text
	}
	if got := says("What does the zebra cost?"); !strings.Contains(got, "42 crowns") {
		t.Errorf("the agent says %q", got)
	}
	if got := says("When does the elephant house open?"); !strings.Contains(got, "at ten") {
		t.Errorf("the agent says %q", got)
	}
	figures, err := c.Knowledge.IndexStatus(ctx)
	var stats struct{ Categories, Entries int }
	if err != nil || json.Unmarshal(figures, &stats) != nil || stats.Categories != 2 || stats.Entries != 2 {
		t.Errorf("figures %s, %v", figures, err)
	}

	wantCode(t, "unconfirmed", c.Knowledge.DetachEntry(ctx, list.EntryID, prices.ID), fault.ConfirmationRequired)
	must.Do(t, c.Knowledge.DetachEntry(ctx, list.EntryID, prices.ID, management.ConfirmPermanent))
	if got := says("What does the zebra cost?"); strings.Contains(got, "42 crowns") {
		t.Errorf("detached, the agent says %q", got)
	}
	must.Do(t, c.Knowledge.AttachEntry(ctx, list.EntryID, zoo.ID))
	if got := says("What does the zebra cost?"); !strings.Contains(got, "42 crowns") {
		t.Errorf("attached, the agent says %q", got)
	}
	plain := must.Get(c.Intellects.Add(ctx, management.IntellectFields{}))(t)
	if got, err := c.Knowledge.Linkage(ctx, plain.ID); err != nil || !got.Enabled {
		t.Errorf("linkage of an intellect without the capability, which is on by default: %+v, %v", got, err)
	}
	must.Do(t, c.Knowledge.SetEnabled(ctx, agent.ConfigID, false))
	if got, err := c.Knowledge.Linkage(ctx, agent.ConfigID); err != nil || got.Enabled {
		t.Errorf("linkage %+v, %v", got, err)
	}

	// One failed call of several is named.
	_, err = c.Multirequest(ctx,
		management.MediaCall{Service: "category", Action: "get", Parameters: map[string]any{"id": zoo.ID}},
		management.MediaCall{Service: "category", Action: "get", Parameters: map[string]any{"id": 4711}},
	)
	wantCode(t, "multirequest", err, fault.OVPError)
	if f := fault.From(err); f.Title != "CATEGORY_NOT_FOUND" || !strings.Contains(f.Message(), "category.get") {
		t.Errorf("the error is %q, %q", f.Title, f.Message())
	}
	_, err = c.Knowledge.UploadDocument(ctx, management.DocumentInput{Name: "a.txt", Data: []byte("a"), CategoryID: 4711})
	wantCode(t, "an unknown category", err, fault.OVPError)
	_, err = c.Knowledge.CreateCategory(ctx, management.CategoryInput{Name: "Zoo"})
	wantCode(t, "a category twice", err, fault.APIException)
}

// TestMediaCalls: the requests as they are sent, and what is refused without one.
func TestMediaCalls(t *testing.T) {
	f := newFake(t, map[string][]answer{
		"/service/category/action/list": {
			{0, `{"objectType":"KalturaAPIException","code":"INVALID_KS","message":"expired","args":{}}`},
			{0, `{"objects":[{"id":7,"name":"Zoo","fullName":"Zoo"}],"totalCount":1}`},
		},
		"/service/multirequest": {{0, `[{"id":"1_a"},{"objectType":"KalturaAPIException","code":"NO_ROOM","message":"full","args":{}}]`}, {0, `[]`}},
	})
	ctx := t.Context()
	category, err := f.Knowledge.FindCategory(ctx, "Zoo")
	if err != nil || category.ID != 7 { // with a second token: the first one was refused
		t.Errorf("found %+v, %v", category, err)
	}
	a, body := f.last()
	want := `{"filter":{"fullNameEqual":"Zoo","objectType":"KalturaCategoryFilter"},"format":1,"ks":"` + adminKS + `","pager":{"objectType":"KalturaFilterPager","pageIndex":1,"pageSize":1}}`
	if got, _ := json.Marshal(body); string(got) != want || a.service != "session" || a.auth != "" {
		t.Errorf("sent %s to %s with %q, want %s", got, a.service, a.auth, want)
	}
	_, err = f.Knowledge.UploadDocument(ctx, management.DocumentInput{Name: "a.pdf", Data: []byte("x"), CategoryID: 7})
	wantCode(t, "no room", err, fault.OVPError)
	if got := fault.From(err); got.Title != "NO_ROOM" || got.Message() != "uploadtoken.add: full" {
		t.Errorf("the error is %q, %q", got.Title, got.Message())
	}
	_, body = f.last()
	first, _ := json.Marshal(body["0"])
	if string(first) != `{"action":"add","entry":{"documentType":11,"name":"a.pdf","objectType":"KalturaDocumentEntry","type":"10"},"ks":"`+adminKS+`","service":"baseentry"}` || body["apiVersion"] != "19.14.0" {
		t.Errorf("sent %s, %v", first, body["apiVersion"])
	}
	_, err = f.Multirequest(ctx, management.MediaCall{Service: "category", Action: "list"})
	wantCode(t, "too few replies", err, fault.InvalidResponse)
	f.take()

	wantCode(t, "no call", drop(f.Multirequest(ctx)), fault.BadRequest)
	wantCode(t, "a call without a name", drop(f.Multirequest(ctx, management.MediaCall{Service: "x"})), fault.BadRequest)
	wantCode(t, "an unknown modality", drop(management.BuildIndexers("smell")), fault.BadRequest)
	wantCode(t, "the same modality", drop(management.BuildIndexers("ocr", "ocr")), fault.BadRequest)
	user := management.WithToken(ctx, management.Token{Kind: management.ConversationToken})
	wantCode(t, "a user's token", drop(f.Knowledge.FindCategory(user, "Zoo")), fault.WrongTokenScope)
	expect.Len(t, f.take(), 0, "asked")
	indexers, err := management.BuildIndexers()
	if text, _ := json.Marshal(indexers); err != nil || string(text) != `[{"indexPosition":0,"type":3,"strategy":"EmbedDocumentV1"},{"indexPosition":1,"type":1,"strategy":"EmbedCaptionV1"},{"indexPosition":2,"type":2,"strategy":"EmbedOcrV1"}]` {
		t.Errorf("indexers %s, %v", text, err)
	}
	var of management.Modality
	if err := json.Unmarshal([]byte(`2`), &of); err != nil || of != management.ModalityOCR {
		t.Errorf("the number 2 is %q, %v", of, err)
	}
}
