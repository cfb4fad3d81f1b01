package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Category is a folder of documents (management-api.md, F.9). An intellect that is linked
// to it answers from the documents in it and in the categories below it.
type Category struct {
	ID       int64  `json:"id"`
	ParentID int64  `json:"parentId"` // 0 for one at the root
	Name     string `json:"name"`
	// FullName has the names from the root on, joined with ">".
	FullName    string `json:"fullName"`
	Description string `json:"description"`
}

// MediaEntry is a document of a category.
type MediaEntry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Status is 2 for a document that is there, 7 for one without a file.
	Status int `json:"status"`
}

// CategoryInput is a new category. Name is required.
type CategoryInput struct {
	Name        string
	ParentID    int64 // 0 puts it at the root
	Description string
}

// DocumentInput is a document to upload. All fields are required.
type DocumentInput struct {
	// Name is the file's name; its ending tells the kind of the file.
	Name       string
	Data       []byte
	CategoryID int64
}

// Document is a document that was uploaded.
type Document struct {
	EntryID    string
	CategoryID int64
	// MarkdownAssetID is the id of the text from which agents answer, with
	// [Knowledge.UploadMarkdown] only.
	MarkdownAssetID string
}

// Modality is a kind of text that is taken from an entry: document, caption, or ocr for the
// text in its pictures.
type Modality string

// The modalities.
const (
	ModalityCaption  Modality = "caption"
	ModalityOCR      Modality = "ocr"
	ModalityDocument Modality = "document"
)

// Modalities are the values of [Modality].
var Modalities = []Modality{ModalityDocument, ModalityCaption, ModalityOCR}

// chapterTypes are the numbers of the modalities on the wire.
var chapterTypes = map[Modality]int{ModalityCaption: 1, ModalityOCR: 2, ModalityDocument: 3}

// UnmarshalJSON accepts a name or the number of a modality. Another name stays as it is,
// because the local service has an index of its own.
func (m *Modality) UnmarshalJSON(data []byte) error {
	var number int
	if json.Unmarshal(data, &number) != nil {
		return json.Unmarshal(data, (*string)(m))
	}
	*m = Modality(strconv.Itoa(number))
	for name, n := range chapterTypes {
		if n == number {
			*m = name
		}
	}
	return nil
}

// Indexer strategies of the modalities (management-api.md, F.9).
var strategies = map[Modality]string{ModalityCaption: "EmbedCaptionV1", ModalityOCR: "EmbedOcrV1", ModalityDocument: "EmbedDocumentV1"}

// IndexerObject describes how one modality is indexed.
type IndexerObject struct {
	IndexPosition int    `json:"indexPosition"`
	Type          int    `json:"type"`
	Strategy      string `json:"strategy"`
}

// BuildIndexers returns the indexers of the modalities, in their order; without one those
// of all. Error: bad_request for an unknown modality or one that is there twice.
func BuildIndexers(of ...Modality) ([]IndexerObject, error) {
	if len(of) == 0 {
		of = Modalities
	}
	var list []IndexerObject
	for n, m := range of {
		if slices.Contains(of[:n], m) {
			return nil, badRequest("the modalities must be different; " + string(m) + " is there twice")
		}
		if !slices.Contains(Modalities, m) {
			return nil, badRequest("a modality must be document, caption or ocr")
		}
		list = append(list, IndexerObject{n, chapterTypes[m], strategies[m]})
	}
	return list, nil
}

// CreateCategory makes a category. Errors: bad_request for an empty name or one with a
// ">" in it; api_exception with the title DUPLICATE_CATEGORY when it exists already, or
// CATEGORY_NOT_FOUND for an unknown parent.
func (k Knowledge) CreateCategory(ctx context.Context, in CategoryInput) (*Category, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	category := map[string]any{"objectType": "KalturaCategory", "name": in.Name}
	if in.ParentID != 0 {
		category["parentId"] = in.ParentID
	}
	if in.Description != "" {
		category["description"] = in.Description
	}
	made := new(Category)
	err := k.c.mediaCall(ctx, MediaCall{Service: "category", Action: "add", Parameters: map[string]any{"category": category}}, made)
	if err != nil {
		return nil, err
	}
	if made.ID == 0 {
		return nil, fault.New(fault.InvalidResponse, "the reply has no id").At("/service/category/action/add")
	}
	return made, nil
}

func (in CategoryInput) check() error {
	switch {
	case strings.TrimSpace(in.Name) == "":
		return badRequest("the name of a category must not be empty")
	case strings.Contains(in.Name, ">"):
		return badRequest("the name of a category must not have > in it")
	case in.ParentID < 0:
		return badRequest("ParentID must be a positive integer, or 0")
	}
	return nil
}

// FindCategory returns the category with that full name, such as "Support>Manuals". Errors:
// bad_request for an empty name, not_found.
func (k Knowledge) FindCategory(ctx context.Context, fullName string) (*Category, error) {
	if err := required("the name of a category", strings.TrimSpace(fullName)); err != nil {
		return nil, err
	}
	return k.firstCategory(ctx, map[string]any{"fullNameEqual": fullName})
}

func (k Knowledge) firstCategory(ctx context.Context, filter map[string]any) (*Category, error) {
	filter["objectType"] = "KalturaCategoryFilter"
	var reply struct {
		Objects []*Category `json:"objects"`
	}
	err := k.c.mediaCall(ctx, MediaCall{Service: "category", Action: "list", again: true, Parameters: map[string]any{
		"filter": filter, "pager": mediaPager(1, 1),
	}}, &reply)
	if err == nil && len(reply.Objects) == 0 {
		err = fault.New(fault.NotFound, "there is no such category").At("/service/category/action/list")
	}
	if err != nil {
		return nil, err
	}
	return reply.Objects[0], nil
}

func mediaPager(index, size int) map[string]any {
	return map[string]any{"objectType": "KalturaFilterPager", "pageIndex": index, "pageSize": size}
}

// FindOrCreateCategory returns the category with that name below that parent, and makes it
// if there is none. Errors are those of CreateCategory.
func (k Knowledge) FindOrCreateCategory(ctx context.Context, in CategoryInput) (category *Category, created bool, err error) {
	if err := in.check(); err != nil {
		return nil, false, err
	}
	full := in.Name
	if in.ParentID != 0 {
		parent, err := k.firstCategory(ctx, map[string]any{"idEqual": in.ParentID})
		if err != nil {
			return nil, false, err
		}
		full = parent.FullName + ">" + in.Name
	}
	category, err = k.FindCategory(ctx, full)
	if !errors.Is(err, fault.NotFound) {
		return category, false, err
	}
	category, err = k.CreateCategory(ctx, in)
	return category, err == nil, err
}

// CategoryEntries iterates over the documents in a category and below it, the latest first.
func (k Knowledge) CategoryEntries(ctx context.Context, categoryID int64, opts ...Option) iter.Seq2[*MediaEntry, error] {
	bad := positive("the id of a category", categoryID)
	return pages[MediaEntry]("/service/baseentry/action/list", 0, bad, opts, func(index, _, size int) (page, error) {
		return k.entries(ctx, categoryID, index, size)
	})
}

// entryStates and entryTypes are the documents that count: those that are there, and those
// that are still being processed.
const (
	entryStates = "-1,-2,0,1,2,7,4"
	entryTypes  = "1,7,10"
)

func (k Knowledge) entries(ctx context.Context, categoryID int64, index, size int) (reply page, err error) {
	err = k.c.mediaCall(ctx, MediaCall{Service: "baseentry", Action: "list", again: true, Parameters: map[string]any{
		"filter": map[string]any{
			"objectType": "KalturaBaseEntryFilter", "categoryAncestorIdIn": strconv.FormatInt(categoryID, 10),
			"orderBy": "-createdAt", "statusIn": entryStates, "typeIn": entryTypes,
		},
		"pager": mediaPager(index, size),
	}}, &reply)
	return reply, err
}

// AttachEntry puts a document into a category. Errors: bad_request for an empty id,
// api_exception with the title CATEGORY_ENTRY_ALREADY_EXISTS when it is in it already.
func (k Knowledge) AttachEntry(ctx context.Context, entryID string, categoryID int64) error {
	if err := cmp.Or(required("the id of an entry", entryID), positive("the id of a category", categoryID)); err != nil {
		return err
	}
	return k.c.mediaCall(ctx, attach(entryID, categoryID), nil)
}

func attach(entryID string, categoryID int64) MediaCall {
	return MediaCall{Service: "categoryentry", Action: "add", Parameters: map[string]any{
		"categoryEntry": map[string]any{"objectType": "KalturaCategoryEntry", "categoryId": categoryID, "entryId": entryID},
	}}
}

// DetachEntry takes a document out of a category. [ConfirmPermanent] is required
// (confirmation_required without it).
func (k Knowledge) DetachEntry(ctx context.Context, entryID string, categoryID int64, opts ...Option) error {
	err := cmp.Or(
		required("the id of an entry", entryID), positive("the id of a category", categoryID),
		settingsOf(opts).confirm("a document's place in a category"),
	)
	if err != nil {
		return err
	}
	return k.c.mediaCall(ctx, MediaCall{Service: "categoryentry", Action: "delete", Parameters: map[string]any{
		"categoryId": categoryID, "entryId": entryID,
	}}, nil)
}

// UploadDocument stores a document and puts it into a category. Errors: bad_request for a
// missing field; ovp_error, which names the call, when the service refuses one.
func (k Knowledge) UploadDocument(ctx context.Context, in DocumentInput) (*Document, error) {
	entryID, err := k.upload(ctx, in, "document_documents", "addContent")
	if err != nil {
		return nil, err
	}
	return &Document{EntryID: entryID, CategoryID: in.CategoryID}, nil
}

// upload stores a document by an action that takes its content, puts it into its category,
// and returns the id of its entry.
func (k Knowledge) upload(ctx context.Context, in DocumentInput, service, action string) (string, error) {
	if err := in.check(); err != nil {
		return "", err
	}
	entryID, uploadID, err := k.announce(ctx, in)
	if err != nil {
		return "", err
	}
	if err := k.c.uploadFile(ctx, uploadID, in.Name, in.Data); err != nil {
		return "", err
	}
	_, err = k.c.Multirequest(
		ctx,
		MediaCall{Service: service, Action: action, Parameters: map[string]any{"entryId": entryID, "resource": uploaded(uploadID)}},
		attach(entryID, in.CategoryID),
	)
	return entryID, err
}

// UploadMarkdown stores a Markdown text as a document and as its text version, and puts it
// into a category. Without a Name it is document.md. Errors are those of UploadDocument.
func (k Knowledge) UploadMarkdown(ctx context.Context, in DocumentInput) (*Document, error) {
	in.Name = cmp.Or(in.Name, "document.md")
	entryID, err := k.upload(ctx, in, "baseentry", "updateContent")
	if err != nil {
		return nil, err
	}
	var upload, asset struct {
		ID string `json:"id"`
	}
	if err := k.c.mediaCall(ctx, announceFile(in.Name), &upload); err != nil {
		return nil, err
	}
	if err := k.c.uploadFile(ctx, upload.ID, in.Name, in.Data); err != nil {
		return nil, err
	}
	const markdownFormat = 5
	err = k.c.mediaCall(ctx, MediaCall{Service: "attachment_attachmentasset", Action: "add", Parameters: map[string]any{
		"entryId": entryID,
		"attachmentAsset": map[string]any{
			"objectType": "KalturaMarkdownAsset", "filename": path.Base(in.Name), "fileExt": "md", "format": markdownFormat,
		},
	}}, &asset)
	if err == nil {
		err = k.c.mediaCall(ctx, MediaCall{Service: "attachment_attachmentasset", Action: "setContent", Parameters: map[string]any{
			"id": asset.ID, "contentResource": uploaded(upload.ID),
		}}, nil)
	}
	if err != nil {
		return nil, err
	}
	return &Document{EntryID: entryID, CategoryID: in.CategoryID, MarkdownAssetID: asset.ID}, nil
}

func (in DocumentInput) check() error {
	if len(in.Data) == 0 {
		return badRequest("Data must not be empty")
	}
	return cmp.Or(required("Name", strings.TrimSpace(in.Name)), positive("CategoryID", in.CategoryID))
}

// announce makes an entry and an upload token for its file.
func (k Knowledge) announce(ctx context.Context, in DocumentInput) (entryID, uploadID string, err error) {
	const otherDocument = 11
	replies, err := k.c.Multirequest(
		ctx,
		MediaCall{Service: "baseentry", Action: "add", Parameters: map[string]any{"entry": map[string]any{
			"objectType": "KalturaDocumentEntry", "name": in.Name, "type": "10", "documentType": otherDocument,
		}}},
		announceFile(in.Name),
	)
	if err != nil {
		return "", "", err
	}
	ids := [2]struct {
		ID string `json:"id"`
	}{}
	for n, reply := range replies {
		if json.Unmarshal(reply, &ids[n]) != nil || ids[n].ID == "" {
			return "", "", fault.New(fault.ServerError, "the service returned no id").At("/service/multirequest")
		}
	}
	return ids[0].ID, ids[1].ID, nil
}

func announceFile(name string) MediaCall {
	return MediaCall{Service: "uploadtoken", Action: "add", Parameters: map[string]any{
		"uploadToken": map[string]any{"objectType": "KalturaUploadToken", "fileName": name},
	}}
}

func uploaded(tokenID string) map[string]any {
	return map[string]any{"objectType": "KalturaUploadedFileTokenResource", "token": tokenID}
}

// Linkage is from what an intellect answers.
type Linkage struct {
	KnowledgeIDs []int64
	// Enabled reports whether the capability use_knowledge_base is on, which it is by default.
	Enabled bool
}

// useKnowledge is the capability of answering from knowledge.
const useKnowledge = "use_knowledge_base"

// Linkage reads the knowledge records of an intellect. Errors are those of
// [Intellects.Get].
func (k Knowledge) Linkage(ctx context.Context, intellectID int64) (Linkage, error) {
	intellect, err := k.c.Intellects.Get(ctx, intellectID)
	if err != nil {
		return Linkage{}, err
	}
	return Linkage{append([]int64{}, intellect.KnowledgeIDs...), cmp.Or(intellect.Capabilities[useKnowledge], CapabilityOn) == CapabilityOn}, nil
}

// SetEnabled switches the capability use_knowledge_base of an intellect. Errors are those
// of [Intellects.SetCapabilities].
func (k Knowledge) SetEnabled(ctx context.Context, intellectID int64, on bool, opts ...Option) error {
	state := "off"
	if on {
		state = "on"
	}
	return k.c.Intellects.SetCapabilities(ctx, intellectID, map[string]string{useKnowledge: state}, opts...)
}

// CategoryLink links an intellect to a category.
type CategoryLink struct {
	IntellectID, CategoryID int64 // required
	// Language is the language of the documents; "" means English.
	Language string
	// ChunkSize is how long the pieces are into which they are split, in characters; 0
	// means 5000.
	ChunkSize int
}

// LinkCategory makes an intellect answer from the documents of a category, and switches the
// capability use_knowledge_base on. When the service refuses it with 403 or 404, the result
// says so and there is no error. Error: bad_request for a missing id or a negative size.
func (k Knowledge) LinkCategory(ctx context.Context, in CategoryLink) (ConfigResult, error) {
	errs := []error{positive("IntellectID", in.IntellectID), positive("CategoryID", in.CategoryID)}
	if in.ChunkSize < 0 {
		errs = append(errs, badRequest("ChunkSize must be a positive number of characters"))
	}
	if err := cmp.Or(errs...); err != nil {
		return ConfigResult{}, err
	}
	indexer := map[string]any{
		"filterType": "categoryEntry", "chunkSize": cmp.Or(in.ChunkSize, 5000),
		"categoryInfo": []any{map[string]any{"categoryId": strconv.FormatInt(in.CategoryID, 10), "language": cmp.Or(in.Language, "English")}},
	}
	return unavailable(k.link(ctx, in.IntellectID, map[string]any{"indexer": indexer}))
}

// LinkRecords makes an intellect answer from knowledge records, and switches the capability
// use_knowledge_base on. Errors: bad_request for a bad id or more than [MaxKnowledgeIDs],
// forbidden where the account may not do it, not_found.
func (k Knowledge) LinkRecords(ctx context.Context, intellectID int64, ids ...int64) error {
	errs := []error{positive("the id of an intellect", intellectID)}
	for n, id := range ids {
		errs = append(errs, recordID(indexed("ids", n), id))
	}
	if len(ids) > MaxKnowledgeIDs {
		errs = append(errs, badRequest("an intellect may have at most "+strconv.Itoa(MaxKnowledgeIDs)+" knowledge record"))
	}
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	return k.link(ctx, intellectID, map[string]any{"knowledge_ids": append([]int64{}, ids...)})
}

func (k Knowledge) link(ctx context.Context, intellectID int64, config map[string]any) error {
	config["capabilities"] = map[string]any{useKnowledge: "on"}
	return k.c.post(ctx, partnerConfigUpdate, map[string]any{"id": intellectID, "config": config}, nil)
}

// LinkAvailable reports whether the account may link knowledge itself. A refusal with 403
// or 404 is no error.
func (k Knowledge) LinkAvailable(ctx context.Context) (ConfigResult, error) {
	return k.c.Intellects.BrainConfigAvailable(ctx)
}

// knowledgeStats are the figures of the index.
var knowledgeStats = endpoint{at: appinit.Genie, path: "/partner-config/stats", again: harmless}

// IndexStatus returns the service's figures of what is indexed, as they are.
func (k Knowledge) IndexStatus(ctx context.Context) (json.RawMessage, error) {
	var reply json.RawMessage
	err := k.c.post(ctx, knowledgeStats, map[string]any{"filter": struct{}{}}, &reply)
	return reply, err
}

// Corpus is what is in some categories.
type Corpus struct {
	Entries    int
	Categories map[int64]int // the documents of each, with those below it
}

// CorpusStatus counts the documents in categories and below them. A document that is in
// two of them counts twice. Error: bad_request without a category.
func (k Knowledge) CorpusStatus(ctx context.Context, categoryIDs ...int64) (*Corpus, error) {
	if len(categoryIDs) == 0 {
		return nil, badRequest("name at least one category")
	}
	for n, id := range categoryIDs {
		if err := positive(indexed("categoryIDs", n), id); err != nil {
			return nil, err
		}
	}
	corpus := &Corpus{Categories: map[int64]int{}}
	for _, id := range categoryIDs {
		first, err := k.entries(ctx, id, 1, 1)
		if err != nil {
			return nil, err
		}
		corpus.Entries += first.TotalCount
		corpus.Categories[id] = first.TotalCount
	}
	return corpus, nil
}
