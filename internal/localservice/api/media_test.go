package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/must"
)

// media calls an action of the media API with the token in the body, as its client does.
func (v *service) media(ks, service, action, parameters string) map[string]any {
	v.t.Helper()
	body := map[string]any{}
	must.Do(v.t, json.Unmarshal([]byte(parameters), &body))
	body["ks"], body["format"] = ks, 1
	text, _ := json.Marshal(body)
	got := v.post(SessionPrefix+"/service/"+service+"/action/"+action, "", string(text))
	var reply map[string]any
	v.decode(got, &reply)
	return reply
}

// many makes a multirequest.
func (v *service) many(ks string, calls ...map[string]any) []map[string]any {
	v.t.Helper()
	body := map[string]any{"apiVersion": "19.14.0", "format": 1}
	for n, call := range calls {
		call["ks"] = ks
		body[fmt.Sprint(n)] = call
	}
	text, _ := json.Marshal(body)
	var replies []map[string]any
	v.decode(v.post(SessionPrefix+"/service/multirequest", "", string(text)), &replies)
	return replies
}

func (v *service) uploadFile(ks, id, name, content string) reply {
	v.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part := must.Get(form.CreateFormFile("fileData", name))(v.t)
	part.Write([]byte(content)) //nolint:errcheck // into memory
	if ks != "" {
		form.WriteField("ks", ks) //nolint:errcheck // into memory
	}
	form.Close() //nolint:errcheck // into memory
	path := uploadPath + "?uploadTokenId=" + id + "&resume=false&finalChunk=true&resumeAt=0&format=1"
	return v.do(v.request("POST", path, "", form.FormDataContentType(), body.String()))
}

type object = map[string]any

// addDocument stores a document in a category, in the order of calls of management-api.md,
// F.9 uploadDocument.
func (v *service) addDocument(ks, name, content string, category any) (entryID string) {
	v.t.Helper()
	made := v.many(
		ks,
		object{"service": "baseentry", "action": "add", "entry": object{"objectType": "KalturaDocumentEntry", "name": name, "type": "10", "documentType": 11}},
		object{"service": "uploadtoken", "action": "add", "uploadToken": object{"objectType": "KalturaUploadToken", "fileName": name}},
	)
	entryID, upload := made[0]["id"].(string), made[1]["id"].(string)
	if got := v.uploadFile(ks, upload, name, content); got.status != 200 || !strings.Contains(got.body, `"status":2`) {
		v.t.Fatalf("upload: %d %s", got.status, got.body)
	}
	done := v.many(
		ks,
		object{"service": "document_documents", "action": "addContent", "entryId": entryID, "resource": object{"objectType": "KalturaUploadedFileTokenResource", "token": upload}},
		object{"service": "categoryentry", "action": "add", "categoryEntry": object{"objectType": "KalturaCategoryEntry", "categoryId": category, "entryId": entryID}},
	)
	if done[0]["status"] != 2.0 || done[1]["entryId"] != entryID {
		v.t.Fatalf("content and category: %v", done)
	}
	return entryID
}

func (v *service) addCategory(ks, name string, parent any) any {
	v.t.Helper()
	made := v.many(ks, object{"service": "category", "action": "add", "category": object{"objectType": "KalturaCategory", "name": name, "parentId": parent}})[0]
	if made["objectType"] != "KalturaCategory" {
		v.t.Fatalf("made %v", made)
	}
	return made["id"]
}

// TestCategoriesAreAnsweredFrom: an agent that is linked to a category answers from the
// documents in it and below it, until they are taken out.
func TestCategoriesAreAnsweredFrom(t *testing.T) {
	v := serve(t, nil, nil)
	m, ks := v.manager(), v.admin()
	food := v.addCategory(ks, "Food", 0)
	soups := v.addCategory(ks, "Soups", food)
	found := v.media(ks, "category", "list", `{"filter":{"objectType":"KalturaCategoryFilter","fullNameEqual":"Food>Soups"},"pager":{"objectType":"KalturaFilterPager","pageSize":1,"pageIndex":1}}`)
	expect.Equal(t, fmt.Sprint(found["totalCount"], found["objects"].([]any)[0].(object)["id"]), fmt.Sprint(1, soups), "found %v", found)
	for _, parent := range []string{fmt.Sprint(food), fmt.Sprintf(`"%v"`, food)} {
		below := v.media(ks, "category", "list", `{"filter":{"parentIdEqual":`+parent+`}}`)
		expect.Equal(t, fmt.Sprint(below["totalCount"], below["objects"].([]any)[0].(object)["id"]), fmt.Sprint(1, soups), "below %s", parent)
	}
	entry := v.addDocument(ks, "menu.md", menu, soups)
	count := func(category any) any {
		t.Helper()
		return v.media(ks, "baseentry", "list", fmt.Sprintf(`{"filter":{"objectType":"KalturaBaseEntryFilter","categoryAncestorIdIn":"%v",
			"orderBy":"-createdAt","statusIn":"-1,-2,0,1,2,7,4","typeIn":"1,7,10"},"pager":{"pageIndex":1,"pageSize":1}}`, category))["totalCount"]
	}
	if count(food) != 1.0 || count(soups) != 1.0 || count(99999) != 0.0 {
		t.Errorf("%v entries in the category, %v below it", count(soups), count(food))
	}
	for filter, want := range map[string]float64{`"statusIn":"2"`: 1, `"statusIn":"7"`: 0, `"statusIn":"4"`: 0, `"typeIn":"1"`: 0, `"idEqual":"` + entry + `"`: 1} {
		if got := v.media(ks, "baseentry", "list", `{"filter":{`+filter+`}}`)["totalCount"]; got != want {
			t.Errorf("%s: %v entries, want %v", filter, got, want)
		}
	}
	if hit := v.post("/mcp/search", ks, `{"query":"lentil","include_sources":true}`); !strings.Contains(hit.body, entry) {
		t.Errorf("an admin finds %s", hit.body)
	}

	ann := v.conversation(store.Receptionist, "ann")
	asks := func() bool {
		t.Helper()
		return strings.Contains(v.ask(ann, "", "Which soup do you have today?").text, "lentil soup")
	}
	if asks() {
		t.Error("the agent answers from a category that it is not linked to")
	}
	link := func(category string) {
		t.Helper()
		m.call("/partner-config/update", fmt.Sprintf(`{"id":%d,"config":{"knowledge_ids":[],"indexer":{"filterType":"categoryEntry","chunkSize":5000,
			"categoryInfo":[{"categoryId":%s,"language":"English"}]}}}`, v.agents[store.Receptionist].ConfigID, category), 200)
	}
	expect.Equal(t, fmt.Sprint(m.call("/partner-config/stats", `{"filter":{}}`, 200)), "map[categories:2 entries:1 passages:2 records:0]", "figures")
	link(fmt.Sprintf(`"%v"`, food))
	if !asks() {
		t.Error("the agent does not answer from its category")
	}
	if got := v.media(ks, "category", "add", `{"category":{"name":"Food"}}`); got["code"] != codeSameCategory {
		t.Errorf("a second category of that name: %v", got)
	}
	if got := v.media(ks, "categoryentry", "add", fmt.Sprintf(`{"categoryEntry":{"categoryId":%v,"entryId":%q}}`, soups, entry)); got["code"] != codeAttached {
		t.Errorf("attached twice: %v", got)
	}

	// Detached, it is neither found nor counted.
	body := fmt.Sprintf(`{"ks":%q,"format":1,"categoryId":%v,"entryId":%q}`, ks, soups, entry)
	wantStatus(t, "detach", v.post(SessionPrefix+"/service/categoryentry/action/delete", "", body), 200, "null")
	if asks() || count(food) != 0.0 {
		t.Error("the entry is still in the category")
	}
	if got := v.post(SessionPrefix+"/service/categoryentry/action/delete", "", body); !strings.Contains(got.body, codeNotAttached) {
		t.Errorf("detached twice: %s", got.body)
	}
	v.media(ks, "categoryentry", "add", fmt.Sprintf(`{"categoryEntry":{"categoryId":"%v","entryId":%q}}`, soups, entry))
	if !asks() {
		t.Error("attached again, the agent does not answer from it")
	}
	link(fmt.Sprint(v.addCategory(ks, "Other", 0)))
	if asks() {
		t.Error("unlinked, the agent still answers from it")
	}
}

// TestMarkdownOfADocument: a document that can't be read is answered from its Markdown
// version, and without one says that it is not.
func TestMarkdownOfADocument(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.admin()
	category := v.addCategory(ks, "Manuals", 0)
	upload := func(name, content string) string {
		t.Helper()
		id := v.media(ks, "uploadtoken", "add", `{"uploadToken":{"objectType":"KalturaUploadToken","fileName":"`+name+`"}}`)["id"].(string)
		if got := v.uploadFile(ks, id, name, content); got.status != 200 {
			t.Fatalf("upload %s", got.body)
		}
		return id
	}
	entry := v.media(ks, "baseentry", "add", `{"entry":{"objectType":"KalturaDocumentEntry","name":"Manual","type":"10","documentType":11}}`)["id"].(string)
	v.media(ks, "categoryentry", "add", fmt.Sprintf(`{"categoryEntry":{"categoryId":%v,"entryId":%q}}`, category, entry))
	content := fmt.Sprintf(`{"entryId":%q,"resource":{"objectType":"KalturaUploadedFileTokenResource","token":%q}}`, entry, upload("manual.pdf", "%PDF-1.7\n\x00\xff"))
	got := v.media(ks, "baseentry", "updateContent", content)
	expect.Equal(t, fmt.Sprint(got["_meta"]), fmt.Sprint(object{"noEffect": []any{unreadableDocument}}), "a file that is no text: %v", got)
	if again := v.media(ks, "baseentry", "updateContent", content); again["code"] != codeUploadToken {
		t.Errorf("a file used twice: %v", again)
	}
	asset := v.media(ks, "attachment_attachmentasset", "add", fmt.Sprintf(
		`{"entryId":%q,"attachmentAsset":{"objectType":"KalturaMarkdownAsset","filename":"manual.md","fileExt":"md","format":5}}`, entry))
	set := v.media(ks, "attachment_attachmentasset", "setContent", fmt.Sprintf(
		`{"id":%q,"contentResource":{"objectType":"KalturaUploadedFileTokenResource","token":%q}}`, asset["id"], upload("manual.md", menu)))
	if asset["status"] != 0.0 || set["status"] != 2.0 {
		t.Errorf("attachment %v, then %v", asset, set)
	}
	if hit := v.post("/mcp/search", ks, `{"query":"lentil"}`); hit.status != 200 || !strings.Contains(hit.body, "lentil soup") {
		t.Errorf("search %s", hit.body)
	}
}

// TestADocumentKeepsTheTextOfARecord whose source has its entry id.
func TestADocumentKeepsTheTextOfARecord(t *testing.T) {
	v := serve(t, nil, nil)
	m, ks := v.manager(), v.admin()
	category := v.addCategory(ks, "Food", 0)
	entry := v.addDocument(ks, "menu.md", menu, category)
	made := m.call("/v1/knowledge/add", fmt.Sprintf(
		`{"name":"Notes","config":{"sources":[{"type":"text","name":"note","content":"The umbrellas stand in the hall.","entry_id":%q}]}}`, entry), 200)
	v.media(ks, "categoryentry", "delete", fmt.Sprintf(`{"categoryId":%v,"entryId":%q}`, category, entry))
	if got := m.call("/mcp/search", `{"query":"umbrellas"}`, 200); got["status"] != "success" {
		t.Errorf("the record %v is not found any more: %v", made["id"], got)
	}
}

// TestMediaCallsGiveBackTheirBodies for whom they were taken: the token of a call is known only
// when its body has been read.
func TestMediaCallsGiveBackTheirBodies(t *testing.T) {
	var mu sync.Mutex
	held := map[quota.Client]int{}
	v := serve(t, nil, func(c *Config) {
		c.Bodies = func(by quota.Client, n int) error {
			mu.Lock()
			defer mu.Unlock()
			held[by] += n
			return nil
		}
	})
	v.many(v.admin(), object{"service": "category", "action": "list"}, object{"service": "baseentry", "action": "list"})
	mu.Lock()
	defer mu.Unlock()
	for by, n := range held {
		expect.Equal(t, n, 0, "%+v holds bytes", by)
	}
}

// TestARepeatedMultirequestHasItsFirstReplies: of each of its calls, also of two that make
// records of one kind.
func TestARepeatedMultirequestHasItsFirstReplies(t *testing.T) {
	v := serve(t, nil, nil)
	calls := fmt.Sprintf(`{"ks":%q,"1":{"service":"category","action":"add","category":{"name":"Food"}},
		"2":{"service":"category","action":"add","category":{"name":"Drinks"}}}`, v.admin())
	key := strings.Repeat("k", maxKey)
	var first string
	for range 2 {
		got := v.keyed(SessionPrefix+"/service/multirequest", "", calls, key)
		var made []object
		v.decode(got, &made)
		if len(made) != 2 || made[0]["name"] != "Food" || made[1]["name"] != "Drinks" || (first != "" && got.body != first) {
			t.Errorf("made %s, first %s", got.body, first)
		}
		first = got.body
	}
}

// TestChangesOfADocumentAtOnce: the text of the latest file is found, whatever else changes
// at the same time.
func TestChangesOfADocumentAtOnce(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.admin()
	first, second := v.addCategory(ks, "First", 0), v.addCategory(ks, "Second", 0)
	old := strings.Repeat("The umbrellas stand in the hall, and nobody takes them home.\n\n", 6000)
	for n := range 4 {
		entry := v.addDocument(ks, "text.txt", old, first)
		token := v.media(ks, "uploadtoken", "add", `{"uploadToken":{"fileName":"text.txt"}}`)["id"].(string)
		v.uploadFile(ks, token, "text.txt", "Bicycles.")
		var both sync.WaitGroup
		both.Go(func() {
			v.media(ks, "categoryentry", "add", fmt.Sprintf(`{"categoryEntry":{"categoryId":%v,"entryId":%q}}`, second, entry))
		})
		both.Go(func() {
			v.media(ks, "document_documents", "addContent", fmt.Sprintf(`{"entryId":%q,"resource":{"token":%q}}`, entry, token))
		})
		both.Wait()
		if hit := v.post("/mcp/search", ks, `{"query":"umbrellas"}`); strings.Contains(hit.body, "nobody") {
			t.Fatalf("round %d: the older text is found", n)
		}
	}
}

// TestUnusedUploadsGo with their files, when another one is made, a day after they were made.
func TestUnusedUploadsGo(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.admin()
	add := func() string {
		t.Helper()
		return v.media(ks, "uploadtoken", "add", `{"uploadToken":{"fileName":"text.txt"}}`)["id"].(string)
	}
	upload := func(id string) (store.Record[store.Upload], error) {
		return store.Uploads(v.store).Get(t.Context(), v.partner.ID, id)
	}
	recent := add()
	v.uploadFile(ks, recent, "text.txt", "Bicycles.")
	var old store.Record[store.Upload]
	synctest.Test(t, func(t *testing.T) { // where the year is 2000
		asset, err := v.store.AddAsset(t.Context(), "text/plain", strings.NewReader("Umbrellas."))
		if err == nil {
			old, err = store.Uploads(v.store).Create(t.Context(), v.partner.ID, store.Upload{AssetID: asset})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	add()
	expect.Fail(upload(old.ID))(t, store.ErrNotFound, "the old token")
	if _, _, err := v.store.Asset(t.Context(), old.Body.AssetID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its file: %v", err)
	}
	r := must.Get(upload(recent))(t)
	if _, _, err := v.store.Asset(t.Context(), r.Body.AssetID); err != nil {
		t.Errorf("the file of the recent one: %v", err)
	}
}

// TestAFileThatNoDocumentCanTakeGoes: an upload token is used up even if there is no room for the text of its file.
func TestAFileThatNoDocumentCanTakeGoes(t *testing.T) {
	small := must.Get(store.OpenWithin(t.TempDir(), 3<<20, nil))(t)
	t.Cleanup(func() { must.Do(t, small.Close()) })
	v := serve(t, nil, func(c *Config) { c.Store, c.Tokens = small, token.NewAuthority(small) })
	v.store, v.partner = small, must.Get(small.Partners(t.Context()))(t)[0]
	ks := v.admin()
	entry := v.addDocument(ks, "text.txt", "Bicycles.", v.addCategory(ks, "Food", 0))
	upload := v.media(ks, "uploadtoken", "add", `{"uploadToken":{"fileName":"text.txt"}}`)["id"].(string)
	v.uploadFile(ks, upload, "text.txt", strings.Repeat("The umbrellas stand in the hall.\n\n", 50_000))
	asset := must.Get(store.Uploads(small).Get(t.Context(), v.partner.ID, upload))(t).Body.AssetID
	content := fmt.Sprintf(`{"ks":%q,"entryId":%q,"resource":{"token":%q}}`, ks, entry, upload)
	if got := v.post(SessionPrefix+"/service/document_documents/action/addContent", "", content); got.status != http.StatusInsufficientStorage {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if _, _, err := small.Asset(t.Context(), asset); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its file: %v", err)
	}
}

// TestMediaCallsThatAreRefused: the media API says no with an exception and the status 200.
func TestMediaCallsThatAreRefused(t *testing.T) {
	v := serve(t, nil, nil)
	ks, ann := v.admin(), v.conversation(store.Receptionist, "ann")
	category := v.addCategory(ks, "Food", 0)
	entry := v.addDocument(ks, "menu.md", menu, category)
	other := v.stranger().ks
	for _, tt := range []struct{ ks, service, action, body, code string }{
		{"", "category", "list", `{}`, codeKS},
		{"djJ8nonsense", "category", "list", `{}`, codeKS},
		{ann, "category", "list", `{}`, codeForbidden},
		{v.widget(store.Receptionist), "baseentry", "list", `{}`, codeForbidden},
		{ks, "category", "add", `{}`, codeMissing},
		{ks, "category", "add", `{"category":{"name":" "}}`, codeInvalid},
		{ks, "category", "add", `{"category":{"name":"a>b"}}`, codeInvalid},
		{ks, "category", "add", `{"category":{"name":"a","parentId":7}}`, codeCategory},
		{ks, "category", "add", `{"category":{"name":"a","privacy":1}}`, codeInvalid},
		{ks, "category", "get", `{"id":7}`, codeCategory},
		{ks, "category", "list", `{"filter":{"nameLike":"x"}}`, codeInvalid},
		{ks, "category", "list", `{"filter":{"parentIdEqual":"Food"}}`, codeInvalid},
		{ks, "category", "list", `{"filter":{"parentIdEqual":1.5}}`, codeInvalid},
		{ks, "category", "list", `{"filter":{"parentIdEqual":""}}`, codeInvalid},
		{ks, "category", "list", `{"pager":{"pageSize":0}}`, codeInvalid},
		{ks, "baseentry", "add", `{"entry":{"name":"clip","type":"1"}}`, codeInvalid},
		{ks, "baseentry", "get", `{"entryId":"x"}`, codeEntry},
		{ks, "baseentry", "updateContent", `{"entryId":"` + entry + `"}`, codeMissing},
		{ks, "baseentry", "updateContent", `{"entryId":"` + entry + `","resource":{"token":"x"}}`, codeUploadToken},
		{ks, "attachment_attachmentasset", "add", `{"entryId":"` + entry + `","attachmentAsset":{"objectType":"KalturaTranscriptAsset"}}`, codeInvalid},
		{ks, "attachment_attachmentasset", "setContent", `{"id":"x"}`, codeAttachment},
		// Nothing of this partner exists for another one.
		{other, "baseentry", "get", `{"entryId":"` + entry + `"}`, codeEntry},
		{other, "category", "get", fmt.Sprintf(`{"id":%v}`, category), codeCategory},
		{other, "categoryentry", "delete", fmt.Sprintf(`{"categoryId":%v,"entryId":%q}`, category, entry), codeCategory},
	} {
		got := v.media(tt.ks, tt.service, tt.action, tt.body)
		if got["code"] != tt.code || got["objectType"] != "KalturaAPIException" {
			t.Errorf("%s.%s %s: %v, want %s", tt.service, tt.action, tt.body, got, tt.code)
		}
	}
	expect.Equal(t, v.media(other, "baseentry", "list", `{}`)["totalCount"], 0.0, "another partner sees entries")

	// An upload needs a token that waits for a file, and an admin's token with it.
	waiting := v.media(ks, "uploadtoken", "add", `{}`)["id"].(string)
	for name, tt := range map[string]struct{ ks, id, code string }{
		"unknown":           {ks, "x", codeUploadToken},
		"no token":          {"", waiting, codeKS},
		"a user's token":    {ann, waiting, codeForbidden},
		"another partner's": {other, waiting, codeUploadToken},
	} {
		if got := v.uploadFile(tt.ks, tt.id, "a.txt", "text"); got.status != 200 || !strings.Contains(got.body, `"code":"`+tt.code+`"`) {
			t.Errorf("upload, %s: %d %s, want %s", name, got.status, got.body, tt.code)
		}
	}
	unsent := v.media(ks, "baseentry", "updateContent", `{"entryId":"`+entry+`","resource":{"token":"`+waiting+`"}}`)
	expect.Equal(t, unsent["code"], codeUploadNoFile, "content without a file: %v", unsent)
	if got := v.uploadFile(ks, waiting, "a.txt", "text"); !strings.Contains(got.body, `"fileName":"a.txt"`) {
		t.Errorf("upload %s", got.body)
	}
	if got := v.uploadFile(ks, waiting, "a.txt", "text"); !strings.Contains(got.body, codeUploadToken) {
		t.Errorf("a second upload %s", got.body)
	}

	// In a multirequest each call has its own outcome, in order.
	replies := v.many(
		ks,
		object{"service": "category", "action": "get", "id": 7},
		object{"service": "category", "action": "vanish"},
		object{"service": "category", "action": "get", "id": category},
	)
	if replies[0]["code"] != codeCategory || replies[1]["code"] != codeUnknownAction || replies[2]["id"] != category {
		t.Errorf("replies %v", replies)
	}
	for body, code := range map[string]string{`{}`: codeInvalid, `{"first":{}}`: codeInvalid, `{"0":{"ks":"x"}}`: "", `{"0":null}`: codeMissing, `[`: codeInvalid} {
		if got := v.post(SessionPrefix+"/service/multirequest", "", body); got.status != 200 || !strings.Contains(got.body, code) {
			t.Errorf("%s: %d %s, want %s", body, got.status, got.body, code)
		}
	}
}
