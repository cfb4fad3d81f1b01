package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// Codes of the media API's exceptions. Like those of the session API they have the status
// 200.
const (
	codeKS             = "INVALID_KS"
	codeForbidden      = "SERVICE_FORBIDDEN"
	codeUnknownAction  = "SERVICE_DOES_NOT_EXISTS"
	codeInternal       = "INTERNAL_SERVERL_ERROR" // spelled like this
	codeCategory       = "CATEGORY_NOT_FOUND"
	codeSameCategory   = "DUPLICATE_CATEGORY"
	codeEntry          = "ENTRY_ID_NOT_FOUND"
	codeAttached       = "CATEGORY_ENTRY_ALREADY_EXISTS"
	codeNotAttached    = "ENTRY_IS_NOT_ASSIGNED_TO_CATEGORY"
	codeUploadToken    = "UPLOAD_TOKEN_NOT_FOUND"
	codeUploadStatus   = "UPLOAD_TOKEN_INVALID_STATUS_FOR_UPLOAD"
	codeUploadNoFile   = "UPLOADED_FILE_NOT_FOUND_BY_TOKEN"
	codeAttachment     = "ATTACHMENT_ASSET_ID_NOT_FOUND"
	uploadPath         = SessionPrefix + "/service/uploadtoken/action/upload"
	maxMultirequest    = 50 // calls
	documentEntry      = "10"
	statusReady        = 2
	statusNoContent    = 7
	unreadableDocument = "The file is stored, but agents can't answer from it: this service reads text and Markdown only. " +
		"A Markdown version of the document can be attached to the entry."
)

// envelope are the fields of a media API call that are not parameters of its action.
var envelope = []string{"ks", "format", "apiVersion", "clientTag", "partnerId", "service", "action"}

// mediaAction is one action of the media API. Its parameters are without the envelope.
type mediaAction func(c *call, parameters []byte) (any, error)

// action returns the action whose parameters are a T.
func action[T any](handle func(*call, T) (any, error)) mediaAction {
	return func(c *call, parameters []byte) (any, error) {
		var p T
		if err := unmarshalStrict(parameters, &p); err != nil {
			return nil, err
		}
		return handle(c, p)
	}
}

// mediaActions are the actions of the media API (management-api.md, F.9), by service and
// action.
func (s *server) mediaActions() map[string]mediaAction {
	return map[string]mediaAction{
		"category.add":                          action(s.categoryAdd),
		"category.get":                          action(s.categoryGet),
		"category.list":                         action(s.categoryList),
		"baseentry.add":                         action(s.entryAdd),
		"baseentry.get":                         action(s.entryGet),
		"baseentry.list":                        action(s.entryList),
		"baseentry.updateContent":               action(s.entryContent),
		"document_documents.addContent":         action(s.entryContent),
		"uploadtoken.add":                       action(s.uploadAdd),
		"categoryentry.add":                     action(s.entryAttach),
		"categoryentry.delete":                  action(s.entryDetach),
		"attachment_attachmentasset.add":        action(s.attachmentAdd),
		"attachment_attachmentasset.setContent": action(s.attachmentContent),
	}
}

func (s *server) mediaRoutes(mux routes) {
	actions := s.mediaActions()
	for name := range actions {
		service, action, _ := strings.Cut(name, ".")
		mux.Handle("POST "+SessionPrefix+"/service/"+service+"/action/"+action, s.media(func(r *http.Request, body fields) (any, error) {
			return s.mediaCall(r, name, actions[name], body)
		}))
	}
	mux.Handle("POST "+SessionPrefix+"/service/multirequest", s.media(func(r *http.Request, body fields) (any, error) {
		return s.multirequest(r, actions, body)
	}))
	mux.HandleFunc("POST "+uploadPath, s.upload)
}

// media reads the JSON body of a media API call, whose token is in it, and writes what the
// handler returns.
func (s *server) media(handle func(*http.Request, fields) (any, error)) http.Handler {
	return s.paced(func(r *http.Request) (any, error) {
		body := fields{}
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = asException(unmarshal(text, &body))
		}
		if err != nil {
			return nil, err
		}
		return handle(r, body)
	})
}

// mediaCall runs one action with the token of its body.
func (s *server) mediaCall(r *http.Request, name string, do mediaAction, body fields) (any, error) {
	var ks string
	_ = json.Unmarshal(body["ks"], &ks) // anything but text is no token
	for _, key := range envelope {
		delete(body, key)
	}
	parameters, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	reply, err := s.mediaAllowed(r, ks, func(c *call) (any, error) { return do(c, parameters) })
	if err != nil {
		err = asException(fmt.Errorf("%s: %w", name, err))
	}
	return reply, err
}

// mediaAllowed runs a handler with an admin's token.
func (s *server) mediaAllowed(r *http.Request, ks string, handle func(*call) (any, error)) (any, error) {
	if ks == "" {
		return nil, exception(codeKS, "a ks is required")
	}
	claims, err := s.claims(r, ks)
	var refused *apiError
	switch {
	case errors.As(err, &refused):
		return nil, exception(codeKS, refused.text)
	case err != nil:
		return nil, err
	case claims.Kind() != token.Admin:
		return nil, exception(codeForbidden, "a token of this kind may not do that")
	}
	return s.handle(&call{r: r, claims: claims}, handle)
}

// asException returns a refusal the way that the media API reports it. Other errors stay
// as they are.
func asException(err error) error {
	var refused *apiError
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusOK:
		return refused
	case refused != nil && refused.wrong != nil:
		code := codeInvalid
		if refused.wrong.Type == "missing" {
			code = codeMissing
		}
		var at []string
		for _, part := range refused.wrong.Loc[1:] {
			at = append(at, fmt.Sprint(part))
		}
		return exception(code, strings.TrimPrefix(strings.Join(at, ".")+": "+refused.text, ": "))
	}
	return err
}

// multirequest runs several calls, in the order of their numbers, and replies with a list
// of what they return. One that fails does not keep the next ones from running.
func (s *server) multirequest(r *http.Request, actions map[string]mediaAction, body fields) (any, error) {
	var numbers []int
	for key := range body {
		n, err := strconv.Atoi(key)
		switch {
		case slices.Contains(envelope, key):
		case err != nil || n < 0:
			return nil, exception(codeInvalid, key+": want calls with numbers as keys")
		default:
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 || len(numbers) > maxMultirequest {
		return nil, exception(codeInvalid, fmt.Sprintf("want 1 to %d calls", maxMultirequest))
	}
	slices.Sort(numbers)
	replies := []any{}
	for _, n := range numbers {
		reply, err := s.oneOfMany(r, actions, body["ks"], n, body[strconv.Itoa(n)])
		var refused *apiError
		switch {
		case errors.As(err, &refused) && refused.status == http.StatusOK:
			reply = refused.body
		case err != nil && len(replies) == 0:
			return nil, err // nothing was done yet: it can be repeated
		case err != nil:
			s.Logger.Error("request failed", "path", r.URL.Path, "call", n, "error", err)
			reply = exception(codeInternal, "internal error").(*apiError).body
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// oneOfMany runs the call with the number n of a multirequest; ks is the token for calls without one.
func (s *server) oneOfMany(r *http.Request, actions map[string]mediaAction, ks json.RawMessage, n int, raw json.RawMessage) (any, error) {
	body := fields{}
	if err := unmarshal(raw, &body); err != nil {
		return nil, asException(err)
	}
	if body == nil { // the call is null
		body = fields{}
	}
	if body["ks"] == nil {
		body["ks"] = ks
	}
	var service, action string
	if err := cmp.Or(body.take("service", &service), body.take("action", &action)); err != nil {
		return nil, asException(err)
	}
	name := service + "." + action
	do, ok := actions[name]
	if !ok {
		return nil, exception(codeUnknownAction, "there is no action "+name)
	}
	return s.mediaCall(r, name, func(c *call, parameters []byte) (any, error) {
		if key := c.r.Header.Get("Idempotency-Key"); key != "" { // no header has a line break: no other request has this key
			c.r = c.r.WithContext(store.WithRequest(c.ctx(), key+"\n"+strconv.Itoa(n)))
		}
		return do(c, parameters)
	}, body)
}

// orException returns an exception for a record that does not exist.
func orException(err error, code, message string) error {
	if errors.Is(err, store.ErrNotFound) {
		return exception(code, message)
	}
	return err
}

// idText is an id that is given as text or as a number.
type idText string

// UnmarshalJSON accepts both.
func (t *idText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(t))
	}
	var n json.Number
	err := json.Unmarshal(data, &n)
	*t = idText(n)
	return err
}

// mediaQuery fills in the page, the order and the ids of a list of the media API; more are the other
// keys of its filter.
func mediaQuery(p *listQuery, q *store.Query, more conditions) (err error) {
	var id *string
	into := conditions{"objectType": new(any), "idIn": &q.IDs, "idEqual": &id, "orderBy": &q.Order}
	maps.Copy(into, more)
	q.Page, err = p.Pager.page(threadPageSize)
	err = cmp.Or(err, readFilter(p.Filter, "", into))
	q.IDs = narrow(q.IDs, id)
	return err
}

// mediaList is the reply of the media API's lists.
type mediaList struct {
	ObjectType string `json:"objectType"`
	listReply[any]
}

func mediaListed[T any](objectType string, list []store.Record[T], total int, view func(*store.Record[T]) any) mediaList {
	return mediaList{objectType, viewAll(list, total, func(r store.Record[T]) any { return view(&r) })}
}

// viewMedia is a record as clients of the media API see it, with more fields. Times are in seconds
// since 1970; the status is 2 for what is complete.
func viewMedia[T any](objectType string, r *store.Record[T], status int, more map[string]any) map[string]any {
	v := map[string]any{
		"objectType": objectType, "id": r.ID, "partnerId": r.PartnerID, "status": status,
		"createdAt": r.CreatedAt.Unix(), "updatedAt": r.UpdatedAt.Unix(),
	}
	maps.Copy(v, more)
	return v
}

// withFile is the status of what is complete once it has a file; without is that before.
func withFile(assetID string, without int) int {
	if assetID == "" {
		return without
	}
	return statusReady
}

func viewCategory(r *store.Record[store.Category]) any {
	return viewMedia("KalturaCategory", r, statusReady, map[string]any{
		"id": r.Number(), "parentId": r.Body.ParentID, "depth": len(r.Body.Ancestors), "name": r.Body.Name, "fullName": r.Body.FullName,
		"fullIds":     strings.Join(append(slices.Clone(r.Body.Ancestors), r.ID), store.CategorySeparator),
		"description": r.Body.Description,
	})
}

func (s *server) category(c *call, id idText) (store.Record[store.Category], error) {
	r, err := store.Categories(s.Store).Get(c.ctx(), c.claims.PartnerID, string(id))
	return r, orException(err, codeCategory, "there is no category "+string(id))
}

func (s *server) categoryAdd(c *call, p struct {
	Category *struct {
		ObjectType  string `json:"objectType"`
		Name        string `json:"name"`
		ParentID    idText `json:"parentId"`
		Description string `json:"description"`
	} `json:"category"`
},
) (any, error) {
	if p.Category == nil {
		return nil, missing("category")
	}
	in := p.Category
	if err := checkName("name", in.Name); err != nil {
		return nil, err
	}
	if strings.Contains(in.Name, store.CategorySeparator) {
		return nil, invalid("value_error", "The name must not have "+store.CategorySeparator+" in it", "category", "name")
	}
	made := store.Category{Name: in.Name, FullName: in.Name, Ancestors: []string{}, Description: in.Description}
	if in.ParentID != "" && in.ParentID != "0" {
		parent, err := s.category(c, in.ParentID)
		if err != nil {
			return nil, err
		}
		made.ParentID = parent.Number()
		made.FullName = parent.Body.FullName + store.CategorySeparator + in.Name
		made.Ancestors = append(slices.Clone(parent.Body.Ancestors), parent.ID)
	}
	r, err := store.Categories(s.Store).Create(c.ctx(), c.claims.PartnerID, made)
	if errors.Is(err, store.ErrTaken) {
		err = exception(codeSameCategory, "the category exists already: "+made.FullName)
	}
	return viewed(r, err, viewCategory)
}

func (s *server) categoryGet(c *call, p struct {
	ID idText `json:"id"`
},
) (any, error) {
	r, err := s.category(c, p.ID)
	return viewed(r, err, viewCategory)
}

func (s *server) categoryList(c *call, p listQuery) (any, error) {
	var q store.Query
	filter := conditions{"fullNameEqual": where(&q, "fullName", store.Equals[string]), "parentIdEqual": where(&q, "parentId", store.Equals[int64])}
	if err := mediaQuery(&p, &q, filter); err != nil {
		return nil, err
	}
	list, total, err := store.Categories(s.Store).List(c.ctx(), c.claims.PartnerID, q)
	return mediaListed("KalturaCategoryListResponse", list, total, viewCategory), err
}

func viewEntry(r *store.Record[store.MediaEntry]) any {
	v := viewMedia("KalturaDocumentEntry", r, withFile(r.Body.AssetID, statusNoContent), map[string]any{
		"name": r.Body.Name, "description": r.Body.Description, "type": r.Body.Type, "documentType": r.Body.DocumentType,
		"categoriesIds": strings.Join(r.Body.Categories, ","),
	})
	if r.Body.AssetID != "" && r.Body.Passages != nil && len(r.Body.Passages) == 0 {
		v["_meta"] = metaView{NoEffect: []string{unreadableDocument}}
	}
	return v
}

func (s *server) entryAdd(c *call, p struct {
	Entry *struct {
		ObjectType   string `json:"objectType"`
		Name         string `json:"name"`
		Description  string `json:"description"`
		Type         idText `json:"type"`
		DocumentType int    `json:"documentType"`
	} `json:"entry"`
},
) (any, error) {
	if p.Entry == nil {
		return nil, missing("entry")
	}
	in := p.Entry
	if err := cmp.Or(checkName("name", in.Name), oneOf(cmp.Or(in.Type, documentEntry), []idText{documentEntry}, "type")); err != nil {
		return nil, err
	}
	r, err := store.MediaEntries(s.Store).Create(c.ctx(), c.claims.PartnerID, store.MediaEntry{
		Name: in.Name, Description: in.Description, Type: documentEntry, DocumentType: in.DocumentType, Categories: []string{},
	})
	return viewed(r, err, viewEntry)
}

func (s *server) entry(c *call, id string) (store.Record[store.MediaEntry], error) {
	r, err := store.MediaEntries(s.Store).Get(c.ctx(), c.claims.PartnerID, id)
	return r, orException(err, codeEntry, "there is no entry "+id)
}

func (s *server) entryGet(c *call, p struct {
	ID string `json:"entryId"`
},
) (any, error) {
	r, err := s.entry(c, p.ID)
	return viewed(r, err, viewEntry)
}

func (s *server) entryList(c *call, p listQuery) (any, error) {
	var q store.Query
	var types, states, ancestors []string
	if err := mediaQuery(&p, &q, conditions{"typeIn": &types, "statusIn": &states, "categoryAncestorIdIn": &ancestors}); err != nil {
		return nil, err
	}
	if ancestors != nil {
		within, err := s.Store.Within(c.ctx(), c.claims.PartnerID, ancestors)
		if err != nil {
			return nil, err
		}
		q.Where = append(q.Where, store.HasAny("categories", within))
	}
	ready, empty := slices.Contains(states, strconv.Itoa(statusReady)), slices.Contains(states, strconv.Itoa(statusNoContent))
	switch {
	case types != nil && !slices.Contains(types, documentEntry), states != nil && !ready && !empty:
		q.IDs = []string{}
	case states != nil && ready != empty:
		q.Where = append(q.Where, store.Has("assetId", ready))
	}
	list, total, err := store.MediaEntries(s.Store).List(c.ctx(), c.claims.PartnerID, q)
	return mediaListed("KalturaBaseEntryListResponse", list, total, viewEntry), err
}

func viewUpload(r *store.Record[store.Upload]) any {
	return viewMedia("KalturaUploadToken", r, withFile(r.Body.AssetID, 0), map[string]any{"fileName": r.Body.FileName, "uploadedFileSize": r.Body.Size})
}

// unusedUpload is how long an upload token, and its file, waits to be used. Older ones are
// deleted when another one is made.
const unusedUpload = 24 * time.Hour

func (s *server) uploadAdd(c *call, p struct {
	Token *struct {
		ObjectType string  `json:"objectType"`
		FileName   string  `json:"fileName"`
		FileSize   float64 `json:"fileSize"` // the size that arrives counts
	} `json:"uploadToken"`
},
) (any, error) {
	var made store.Upload
	if p.Token != nil {
		made.FileName = p.Token.FileName
	}
	if utf8.RuneCountInString(made.FileName) > maxName {
		return nil, checkName("fileName", made.FileName)
	}
	if err := s.Store.DeleteUploads(c.ctx(), time.Now().Add(-unusedUpload)); err != nil {
		return nil, err
	}
	r, err := store.Uploads(s.Store).Create(c.ctx(), c.claims.PartnerID, made)
	return viewed(r, err, viewUpload)
}

// upload takes the file of an upload token, in one piece.
func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	reply, err := s.takeUpload(r)
	s.reply(w, r, reply, asException(err))
}

func (s *server) takeUpload(r *http.Request) (any, error) {
	query := r.URL.Query()
	id := query.Get("uploadTokenId")
	// The token of the caller comes in the body, after the file or before it, so that this
	// is all that is known before a large body is read.
	known, err := s.Store.AwaitsUpload(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, exception(codeUploadToken, "there is no upload token that waits for a file")
	}
	if query.Get("resume") == "true" || query.Get("finalChunk") == "false" {
		return nil, exception(codeInvalid, "this service takes a file in one piece only: resume must be false, finalChunk true")
	}
	if err := readForm(r); err != nil {
		return nil, err
	}
	defer r.MultipartForm.RemoveAll() //nolint:errcheck // temporary files
	return s.mediaAllowed(r, cmp.Or(r.PostFormValue("ks"), tokenOf(r)), func(c *call) (any, error) {
		file, header, err := formFile(r, "fileData")
		if err != nil {
			return nil, err
		}
		defer file.Close()
		asset, err := s.Store.AddAsset(c.ctx(), "application/octet-stream", file)
		if err != nil {
			return nil, err
		}
		done, err := store.Uploads(s.Store).Update(c.ctx(), c.claims.PartnerID, id, func(u *store.Upload) error {
			if u.AssetID != "" {
				return exception(codeUploadStatus, "the upload token has a file already")
			}
			u.AssetID, u.Size, u.FileName = asset, header.Size, cmp.Or(u.FileName, header.Filename)
			return nil
		})
		if err != nil {
			err = orException(err, codeUploadToken, "there is no upload token "+id)
			return nil, errors.Join(err, s.Store.DeleteAsset(context.WithoutCancel(c.ctx()), asset))
		}
		return viewUpload(&done), nil
	})
}

// fileResource is a file that was uploaded.
type fileResource struct {
	ObjectType string `json:"objectType"`
	Token      string `json:"token"`
}

// uploaded returns the upload that a resource names. Its file then belongs to the caller.
func (s *server) uploaded(c *call, file *fileResource) (store.Upload, error) {
	if file == nil || file.Token == "" {
		return store.Upload{}, missing("resource", "token")
	}
	u, err := store.Uploads(s.Store).Get(c.ctx(), c.claims.PartnerID, file.Token)
	switch {
	case err != nil:
		return store.Upload{}, orException(err, codeUploadToken, "there is no upload token "+file.Token)
	case u.Body.AssetID == "":
		return store.Upload{}, exception(codeUploadNoFile, "the upload token has no file yet")
	}
	err = store.Uploads(s.Store).Delete(c.ctx(), c.claims.PartnerID, file.Token)
	return u.Body, orException(err, codeUploadToken, "there is no upload token "+file.Token)
}

func (s *server) entryContent(c *call, p struct {
	EntryID  string        `json:"entryId"`
	Resource *fileResource `json:"resource"`
},
) (any, error) {
	if _, err := s.entry(c, p.EntryID); err != nil {
		return nil, err
	}
	_, reply, err := s.giveFile(c, p.EntryID, p.Resource, func(e *store.MediaEntry, file store.Upload) {
		e.AssetID, e.FileName = file.AssetID, file.FileName
	})
	return reply, err
}

// giveFile gives an entry the file of an upload, which is deleted if the entry can't be stored with it. It also returns the
// id of the file.
func (s *server) giveFile(c *call, entryID string, from *fileResource, set func(*store.MediaEntry, store.Upload)) (assetID string, reply any, err error) {
	file, err := s.uploaded(c, from)
	if err != nil {
		return "", nil, err
	}
	reply, err = s.changeEntry(c, entryID, func(e *store.MediaEntry) error {
		set(e, file)
		return nil
	})
	if err != nil {
		err = errors.Join(err, s.Store.DeleteAsset(context.WithoutCancel(c.ctx()), file.AssetID))
	}
	return file.AssetID, reply, err
}

// changeEntry changes an entry, indexes its text again, and deletes files that it no longer
// has.
func (s *server) changeEntry(c *call, id string, change func(*store.MediaEntry) error) (any, error) {
	var before store.MediaEntry
	r, err := store.MediaEntries(s.Store).Update(c.ctx(), c.claims.PartnerID, id, func(e *store.MediaEntry) (err error) {
		before = *e
		if err := change(e); err != nil {
			return err
		}
		e.Passages, err = s.passages(c.ctx(), e)
		return err
	})
	if err != nil {
		return nil, orException(err, codeEntry, "there is no entry "+id)
	}
	for was, is := range map[string]string{before.AssetID: r.Body.AssetID, before.MarkdownID: r.Body.MarkdownID} {
		if was != "" && was != is {
			if err := s.Store.DeleteAsset(c.ctx(), was); err != nil {
				return nil, err
			}
		}
	}
	return viewEntry(&r), nil
}

// passages cuts the text of an entry into passages: that of its Markdown version if it has
// one, else that of its file. A file that is no text has none.
func (s *server) passages(ctx context.Context, e *store.MediaEntry) ([]store.Passage, error) {
	id, kind := e.AssetID, store.TextSource
	switch strings.ToLower(path.Ext(e.FileName)) {
	case ".md", ".markdown":
		kind = store.MarkdownSource
	}
	if e.MarkdownID != "" {
		id, kind = e.MarkdownID, store.MarkdownSource
	}
	none := []store.Passage{}
	if id == "" {
		return none, nil
	}
	_, file, err := s.Store.Asset(ctx, id)
	if errors.Is(err, store.ErrNotFound) { // replaced by another request, after which the change is made again
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKnowledge+1))
	if err != nil || len(text) > maxKnowledge || !utf8.Valid(text) || strings.ContainsRune(string(text), 0) {
		return none, err
	}
	return append(none, brain.Passages(store.Source{Type: kind, Name: cmp.Or(e.FileName, e.Name), Content: string(text)})...), nil
}

// inCategory names an entry and a category.
type inCategory struct {
	ObjectType string `json:"objectType"`
	CategoryID idText `json:"categoryId"`
	EntryID    string `json:"entryId"`
}

func (s *server) entryAttach(c *call, p struct {
	In *inCategory `json:"categoryEntry"`
},
) (any, error) {
	if p.In == nil {
		return nil, missing("categoryEntry")
	}
	category, err := s.category(c, p.In.CategoryID)
	if err != nil {
		return nil, err
	}
	_, err = s.changeEntry(c, p.In.EntryID, func(e *store.MediaEntry) error {
		if slices.Contains(e.Categories, category.ID) {
			return exception(codeAttached, "the entry is in the category already")
		}
		e.Categories = append(e.Categories, category.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"objectType": "KalturaCategoryEntry", "categoryId": category.Number(), "entryId": p.In.EntryID, "status": statusReady,
	}, nil
}

func (s *server) entryDetach(c *call, p inCategory) (any, error) {
	category, err := s.category(c, p.CategoryID)
	if err != nil {
		return nil, err
	}
	_, err = s.changeEntry(c, p.EntryID, func(e *store.MediaEntry) error {
		i := slices.Index(e.Categories, category.ID)
		if i < 0 {
			return exception(codeNotAttached, "the entry is not in the category")
		}
		e.Categories = slices.Delete(e.Categories, i, i+1)
		return nil
	})
	return nil, err
}

func viewAttachment(r *store.Record[store.Attachment]) any {
	return viewMedia("KalturaMarkdownAsset", r, withFile(r.Body.AssetID, 0), map[string]any{
		"entryId": r.Body.EntryID, "filename": r.Body.FileName, "fileExt": r.Body.FileExt, "format": r.Body.Format,
	})
}

func (s *server) attachmentAdd(c *call, p struct {
	EntryID string `json:"entryId"`
	Asset   *struct {
		ObjectType string `json:"objectType"`
		FileName   string `json:"filename"`
		FileExt    string `json:"fileExt"`
		Format     int    `json:"format"`
	} `json:"attachmentAsset"`
},
) (any, error) {
	if p.Asset == nil {
		return nil, missing("attachmentAsset")
	}
	if err := oneOf(p.Asset.ObjectType, []string{"KalturaMarkdownAsset"}, "attachmentAsset", "objectType"); err != nil {
		return nil, err
	}
	if _, err := s.entry(c, p.EntryID); err != nil {
		return nil, err
	}
	r, err := store.Attachments(s.Store).Create(c.ctx(), c.claims.PartnerID, store.Attachment{
		EntryID: p.EntryID, FileName: p.Asset.FileName, FileExt: p.Asset.FileExt, Format: p.Asset.Format,
	})
	return viewed(r, err, viewAttachment)
}

// attachmentContent gives an attachment its file, from which agents then answer.
func (s *server) attachmentContent(c *call, p struct {
	ID       string        `json:"id"`
	Resource *fileResource `json:"contentResource"`
},
) (any, error) {
	attachment, err := store.Attachments(s.Store).Get(c.ctx(), c.claims.PartnerID, p.ID)
	if err != nil {
		return nil, orException(err, codeAttachment, "there is no attachment "+p.ID)
	}
	assetID, _, err := s.giveFile(c, attachment.Body.EntryID, p.Resource, func(e *store.MediaEntry, file store.Upload) { e.MarkdownID = file.AssetID })
	if err != nil {
		return nil, err
	}
	attachment, err = store.Attachments(s.Store).Update(c.ctx(), c.claims.PartnerID, p.ID, func(a *store.Attachment) error {
		a.AssetID = assetID
		return nil
	})
	return viewed(attachment, err, viewAttachment)
}
